//! `permissions`: the permissions that are set hold for AMQP clients.

use serde_json::{Value, json};

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::unique;

tests_of_each_broker! {
    a_user_may_do_what_the_patterns_say,
    topic_permissions_are_for_keys,
    what_does_not_exist_is_named,
}

fn user(broker: &Broker) -> String {
    let user = unique("user");
    broker.run(&["users", "add", &user], &user).good();
    user
}

fn a_user_may_do_what_the_patterns_say(broker: &Broker) {
    let (vhost, user) = (broker.vhost(), user(broker));
    let url = broker.url(&user, &vhost);
    let reason = broker.bad(&["declare", "queue", "mine", &url], 1);
    assert!(reason.starts_with("NOT_ALLOWED"), "{reason}");
    let set = [
        "permissions",
        "set",
        &user,
        "--vhost",
        &vhost,
        "--configure",
        "^mine",
        "--write",
        "^(amq\\.default|mine)$",
    ];
    let expected = format!(
        "user '{user}' in virtual host '{vhost}': configure '^mine', write '^(amq\\.default|mine)$', read ''\n"
    );
    assert_eq!(broker.good(&set), expected);
    if let Some(listed) = broker.control(&["list_permissions", "-p", &vhost]) {
        assert!(listed.contains(&format!("{user}\t^mine\t^(amq\\.default|mine)$\t\n")), "{listed}");
    }
    broker.good(&["declare", "queue", "mine", &url]);
    broker.good(&["publish", "--key", "mine", "m", &url]);
    for words in [&["declare", "queue", "yours"][..], &["consume", "mine"]] {
        let reason = broker.bad(&[words, &[&url]].concat(), 1);
        assert!(reason.starts_with("ACCESS_REFUSED"), "{reason}");
    }
    let listed = broker.json(&["permissions", "--vhost", &vhost, "--filter", &user]);
    let expected = json!({"user": user, "vhost": vhost, "configure": "^mine", "write": "^(amq\\.default|mine)$", "read": ""});
    assert_eq!(listed, [expected]);
    let cleared = broker.good(&["permissions", "clear", &user, "--vhost", &vhost]);
    assert_eq!(cleared, format!("user '{user}' in virtual host '{vhost}' has no permissions any more\n"));
    assert!(broker.bad(&["declare", "queue", "mine", &url], 1).starts_with("NOT_ALLOWED"));
    assert_eq!(broker.json(&["permissions", "--vhost", &vhost, "--filter", &user]), [] as [Value; 0]);
}

fn topic_permissions_are_for_keys(broker: &Broker) {
    let (vhost, user) = (broker.vhost(), user(broker));
    let url = broker.url(&user, &vhost);
    broker.good(&["declare", "exchange", "events", "--type", "topic", &broker.url("guest", &vhost)]);
    broker.good(&["permissions", "set", &user, "--write", ".*", "--vhost", &vhost]);
    let topic = ["permissions", "set", &user, "--topic", "events", "--write", "^order\\.", "--vhost", &vhost];
    let expected =
        format!("user '{user}' at exchange 'events' in virtual host '{vhost}': write '^order\\.', read ''\n");
    assert_eq!(broker.good(&topic), expected);
    broker.good(&["publish", "--exchange", "events", "--key", "order.new", "m", &url]);
    let refused = ["publish", "--exchange", "events", "--key", "user.new", "m", &url];
    assert!(broker.bad(&refused, 1).contains("ACCESS_REFUSED"));
    let listed = broker.json(&["permissions", "--topics", "--vhost", &vhost]);
    let expected =
        json!({"user": user, "vhost": vhost, "exchange": "events", "write": "^order\\.", "read": ""});
    assert_eq!(listed, [expected]);
    let cleared = broker.good(&["permissions", "clear", &user, "--topic", "events", "--vhost", &vhost]);
    let expected = "has no topic permissions for exchange 'events' any more\n";
    assert_eq!(cleared, format!("user '{user}' in virtual host '{vhost}' {expected}"));
    broker.good(&refused);
}

fn what_does_not_exist_is_named(broker: &Broker) {
    let user = user(broker);
    for (name, vhost) in [("nobody", "/"), (&*user, "nowhere")] {
        let reason = broker.bad(&["permissions", "set", name, "--read", ".*", "--vhost", vhost], 1);
        assert_eq!(reason, format!("there is no user '{name}', or no virtual host '{vhost}'"));
    }
    let reason = broker.bad(&["permissions", "clear", &user], 1);
    assert!(reason.starts_with(&format!("there is no user '{user}' in virtual host '/'")), "{reason}");
    let reason = broker.bad(&["permissions", "set", &user, "--read", "("], 1);
    assert!(reason.contains("regex") && reason.ends_with("(status 400)"), "{reason}");
    let reason = broker.bad(&["permissions", "set", &user, "--topic", "x", "--configure", "y"], 2);
    assert!(reason.contains("--configure"), "{reason}");
}
