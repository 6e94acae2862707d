//! `definitions`: the export of one virtual host can be imported into another, and other files are refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::{folder, unique};

tests_of_each_broker! {
    a_virtual_host_moves_to_another,
    a_whole_export_has_users_and_is_for_its_owner,
    an_import_adds,
    files_that_are_no_definitions_are_refused,
}

fn a_virtual_host_moves_to_another(broker: &Broker) {
    let (from, to) = (broker.vhost(), broker.vhost());
    let url = broker.url("guest", &from);
    broker.good(&["declare", "exchange", "events", "--type", "topic", "--durable", &url]);
    broker.good(&["declare", "queue", "orders", "--durable", "--argument", "x-max-length=5", &url]);
    broker.good(&["bind", "queue", "orders", "--exchange", "events", "--key", "order.#", &url]);
    let file = folder("definitions").join("file.json");
    let path = file.to_str().unwrap();
    let exported = broker.good(&["definitions", "export", path, "--vhost", &from]);
    assert_eq!(exported, "1 queue, 1 exchange, 1 binding exported\n");
    let imported = broker.json(&["definitions", "import", path, "--vhost", &to]);
    assert_eq!(imported, [json!({"queues": 1, "exchanges": 1, "bindings": 1})]);
    let url = broker.url("guest", &to);
    broker.good(&["publish", "--exchange", "events", "--key", "order.new", "--mandatory", "m", &url]);
    assert_eq!(broker.good(&["consume", "orders", &url]), "m\n");
    assert_eq!(broker.json(&["queues", "--vhost", &to])[0]["arguments"], json!({"x-max-length": 5}));
}

fn a_whole_export_has_users_and_is_for_its_owner(broker: &Broker) {
    let file = folder("whole").join("all.json");
    broker.good(&["definitions", "export", file.to_str().unwrap()]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let whole: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let user = |users: &Value| users.as_array().unwrap().iter().find(|user| user["name"] == "guest").cloned();
    assert_eq!(user(&whole["users"]), user(&broker.api("users")));
    let streamed: Value = serde_json::from_str(&broker.good(&["definitions", "export"])).unwrap();
    assert_eq!(user(&streamed["users"]), user(&whole["users"]));
    let reason = broker.bad(&["definitions", "export", "/no/such/folder/x"], 1);
    assert!(reason.starts_with("cannot write /no/such/folder/x: "), "{reason}");
}

fn an_import_adds(broker: &Broker) {
    let (user, vhost) = (unique("imported"), unique("imported-host"));
    // The hash of test12, from RabbitMQ's documentation.
    let hash = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";
    let definitions = json!({
        "users": [{"name": user, "password_hash": hash, "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": ["administrator"]}],
        "vhosts": [{"name": vhost}],
        "permissions": [{"user": user, "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"}],
    });
    let imported = broker.run(&["definitions", "import", "-"], definitions.to_string()).good();
    assert_eq!(imported, "1 user, 1 virtual host, 1 permission imported\n");
    let words = ["vhosts", "--user", &user, "--filter", &vhost, "--json"];
    let mut command = broker.command(&words);
    let seen = broker.end(command.env("HAIRSTREAK_HTTP_PASSWORD", "test12"), &words, "").good();
    assert_eq!(seen.lines().count(), 1);
    broker.good(&["users", "delete", &user]);
    broker.good(&["vhosts", "delete", &vhost]);
}

fn files_that_are_no_definitions_are_refused(broker: &Broker) {
    for (wrong, expected) in [
        ("", "standard input is no JSON object with definitions: EOF"),
        ("[]", "standard input is no JSON object with definitions: invalid type: sequence"),
        ("{\"queues\": [}", "standard input is no JSON object with definitions: expected value at line 1"),
    ] {
        let reason = broker.run(&["definitions", "import", "-"], wrong).bad(1);
        assert!(reason.starts_with(expected), "{reason}");
    }
    let reason = broker.run(&["definitions", "import", "-"], "{\"queues\": [{\"name\": \"a\"}]}").bad(1);
    assert!(reason.ends_with("(status 400)"), "{reason}");
    assert!(
        broker.bad(&["definitions", "import", "/no/such/file"], 1).starts_with("cannot read /no/such/file: ")
    );
    for words in [
        &["definitions", "export", "--vhost", "nowhere"][..],
        &["definitions", "import", "-", "--vhost", "nowhere"],
    ] {
        assert_eq!(broker.run(words, "{}").bad(1), "there is no virtual host 'nowhere'");
    }
}
