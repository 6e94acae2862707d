//! `users`: added users can log in, with tags and limits; other users cannot.

use serde_json::json;

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::{folder, unique};

tests_of_each_broker! {
    a_new_user_logs_in_with_its_password_only,
    tags_and_passwords_change_alone,
    a_user_without_a_password_cannot_log_in,
    users_have_limits,
    a_user_that_exists_or_not_is_named,
}

/// Returns `true` if a login over HTTP works. The password comes from the environment.
fn logs_in(broker: &Broker, user: &str, password: &str) -> Result<(), String> {
    let words = ["queues", "--user", user];
    let outcome = broker.end(broker.command(&words).env("HAIRSTREAK_HTTP_PASSWORD", password), &words, "");
    if outcome.status == Some(0) { Ok(()) } else { Err(outcome.bad(1)) }
}

fn a_new_user_logs_in_with_its_password_only(broker: &Broker) {
    let user = unique("alice");
    let added = broker.run(&["users", "add", &user, "--tags", "monitoring,management"], "secret\n").good();
    assert_eq!(added, format!("user '{user}' added\n"));
    assert_eq!(broker.api(&format!("users/{user}"))["tags"], json!(["monitoring", "management"]));
    if let Some(users) = broker.control(&["list_users"]) {
        assert!(users.contains(&format!("{user}\t[monitoring, management]\n")), "{users}");
    }
    assert_eq!(logs_in(broker, &user, "secret"), Ok(()));
    let reason = logs_in(broker, &user, "wrong").unwrap_err();
    assert!(reason.starts_with(&format!("{} refuses user '{user}': ", broker.http)), "{reason}");
    let table = broker.good(&["users", "--filter", &user]);
    assert_eq!(table.lines().nth(1).unwrap().trim_end(), format!("{user}  monitoring, management"));
    assert_eq!(broker.good(&["users", "delete", &user]), format!("user '{user}' deleted\n"));
    assert!(logs_in(broker, &user, "secret").is_err());
}

fn tags_and_passwords_change_alone(broker: &Broker) {
    let user = unique("bob");
    broker.run(&["users", "add", &user], "first").good();
    let reason = logs_in(broker, &user, "first").unwrap_err();
    assert!(reason.ends_with("refuses user '".to_owned().as_str()) || reason.contains(&user), "{reason}");
    let tagged = broker.good(&["users", "set-tags", &user, "monitoring"]);
    assert_eq!(tagged, format!("user '{user}' has the tags monitoring\n"));
    assert_eq!(logs_in(broker, &user, "first"), Ok(()));
    let file = folder("secret").join("password");
    std::fs::write(&file, "second\n").unwrap();
    let changed =
        broker.good(&["users", "set-password", &user, "--new-password-file", file.to_str().unwrap()]);
    assert_eq!(changed, format!("user '{user}' has a new password\n"));
    assert!(logs_in(broker, &user, "first").is_err());
    assert_eq!(logs_in(broker, &user, "second"), Ok(()));
    assert_eq!(broker.api(&format!("users/{user}"))["tags"], json!(["monitoring"]));
    // The password of a file is that of the login as well.
    broker.good(&["queues", "--user", &user, "--password-file", file.to_str().unwrap()]);
    assert_eq!(broker.good(&["users", "set-tags", &user]), format!("user '{user}' has no tags\n"));
    assert!(logs_in(broker, &user, "second").is_err());
}

fn a_user_without_a_password_cannot_log_in(broker: &Broker) {
    let user = unique("carol");
    broker.good(&["users", "add", &user, "--no-password", "--tags", "administrator"]);
    assert!(logs_in(broker, &user, "x").is_err());
    for wrong in ["", "\n", "\n\n"] {
        let reason = broker.run(&["users", "set-password", &user], wrong).bad(1);
        assert_eq!(reason, "there is no password in standard input");
    }
    broker.run(&["users", "set-password", &user], "x").good();
    assert_eq!(logs_in(broker, &user, "x"), Ok(()));
    broker.good(&["users", "set-password", &user, "--no-password"]);
    assert!(logs_in(broker, &user, "x").is_err());
}

fn users_have_limits(broker: &Broker) {
    let (user, vhost) = (unique("dave"), broker.vhost());
    broker.run(&["users", "add", &user], &user).good();
    broker.good(&["permissions", "set", &user, "--configure", ".*", "--vhost", &vhost]);
    let url = broker.url(&user, &vhost);
    broker.good(&["declare", "queue", "q", &url]);
    let set = broker.good(&["users", "set-limit", &user, "max-connections", "0"]);
    assert_eq!(set, format!("max-connections of user '{user}': 0\n"));
    let reason = broker.bad(&["declare", "queue", "q", &url], 1);
    assert!(reason.starts_with("NOT_ALLOWED"), "{reason}");
    let listed = broker.json(&["users", "--filter", &user]);
    assert_eq!(listed[0]["limits"], json!({"max-connections": 0}));
    assert_eq!(
        broker.json(&["users", "set-limit", &user, "max-connections", "none"]),
        [json!({"user": user, "max-connections": null})]
    );
    broker.good(&["declare", "queue", "q", &url]);
    let reason = broker.bad(&["users", "set-limit", &user, "max-moons", "1"], 1);
    assert!(reason.contains("max-moons") && reason.ends_with("(status 400)"), "{reason}");
    let reason = broker.bad(&["users", "set-limit", &user, "max-channels", "few"], 2);
    assert!(reason.contains("it is neither a count nor none"), "{reason}");
}

fn a_user_that_exists_or_not_is_named(broker: &Broker) {
    let reason = broker.run(&["users", "add", "guest"], "x").bad(1);
    assert_eq!(reason, "user 'guest' exists; set-password and set-tags change it");
    for words in [
        &["users", "delete", "nobody"][..],
        &["users", "set-tags", "nobody", "administrator"],
        &["users", "set-password", "nobody", "--no-password"],
        &["users", "set-limit", "nobody", "max-channels", "1"],
    ] {
        assert_eq!(broker.bad(words, 1), "there is no user 'nobody'", "{words:?}");
    }
}
