//! `vhosts`: an added virtual host can be opened, within its limits, until it is deleted.

use serde_json::json;

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::unique;

tests_of_each_broker! {
    a_virtual_host_comes_and_goes,
    a_virtual_host_has_limits,
    a_virtual_host_that_exists_or_not_is_named,
}

fn a_virtual_host_comes_and_goes(broker: &Broker) {
    let vhost = unique("shop");
    let add = ["vhosts", "add", &vhost, "--description", "orders and bills", "--tags", "a,b"];
    assert_eq!(broker.good(&add), format!("virtual host '{vhost}' added\n"));
    let said = broker.api(&format!("vhosts/{vhost}"));
    assert_eq!((&said["description"], &said["tags"]), (&json!("orders and bills"), &json!(["a", "b"])));
    let url = broker.url("guest", &vhost);
    broker.good(&["declare", "queue", "q", &url]);
    broker.good(&["publish", &url, "--key", "q", "--count", "4", "m"]);
    broker.await_list(&["vhosts", "--filter", &vhost], |vhosts| {
        vhosts.len() == 1 && vhosts[0]["messages"] == 4
    });
    let table = broker.good(&["vhosts", "--filter", &vhost, "--columns", "name,description,messages"]);
    let expected = format!(
        "name{}  description       messages\n{vhost}  orders and bills         4\n1 virtual host matching '{vhost}': 4 messages\n",
        " ".repeat(vhost.len() - 4)
    );
    assert_eq!(table, expected);
    assert_eq!(broker.good(&["vhosts", "delete", &vhost]), format!("virtual host '{vhost}' deleted\n"));
    let reason = broker.bad(&["declare", "queue", "q", &url], 1);
    assert!(reason.starts_with("NOT_ALLOWED"), "{reason}");
    let reason = broker.bad(&["queues", "--vhost", &vhost], 1);
    assert_eq!(reason, format!("there is no virtual host '{vhost}' for user 'guest'"));
}

fn a_virtual_host_has_limits(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    let set = broker.good(&["vhosts", "set-limit", &vhost, "max-queues", "1"]);
    assert_eq!(set, format!("max-queues of vhost '{vhost}': 1\n"));
    broker.good(&["declare", "queue", "first", &url]);
    let reason = broker.bad(&["declare", "queue", "second", &url], 1);
    assert!(reason.starts_with("PRECONDITION_FAILED"), "{reason}");
    broker.good(&["vhosts", "set-limit", &vhost, "max-connections", "1000"]);
    let listed = broker.json(&["vhosts", "--filter", &vhost]);
    assert_eq!(listed[0]["limits"], json!({"max-queues": 1, "max-connections": 1000}));
    let removed = broker.good(&["vhosts", "set-limit", &vhost, "max-queues", "none"]);
    assert_eq!(removed, format!("max-queues of vhost '{vhost}': no limit\n"));
    broker.good(&["declare", "queue", "second", &url]);
}

fn a_virtual_host_that_exists_or_not_is_named(broker: &Broker) {
    assert_eq!(broker.bad(&["vhosts", "add", "/"], 1), "virtual host '/' exists");
    for words in
        [&["vhosts", "delete", "nowhere"][..], &["vhosts", "set-limit", "nowhere", "max-queues", "1"]]
    {
        assert_eq!(broker.bad(words, 1), "there is no virtual host 'nowhere'");
    }
    for list in ["exchanges", "bindings", "connections", "channels", "consumers", "permissions", "policies"] {
        let reason = broker.bad(&[list, "--vhost", "nowhere"], 1);
        assert_eq!(reason, "there is no virtual host 'nowhere' for user 'guest'", "{list}");
    }
}
