//! Addresses of the API, logins, and TLS.

use std::fs;

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::folder;
use crate::rabbitmq::CERTIFICATES;

tests_of_each_broker! {
    a_login_comes_from_many_places,
    a_login_that_is_refused_is_named,
    tls_trusts_whom_it_is_told_to,
    a_path_may_go_before_the_api,
}

fn a_login_comes_from_many_places(broker: &Broker) {
    let file = folder("login").join("password");
    fs::write(&file, "guest\n").unwrap();
    let file = file.to_str().unwrap();
    let wrong = format!("http://guest:wrong@{}", broker.http);
    for words in [
        &["--url", &format!("http://guest:guest@{}/", broker.http)][..],
        &["--url", &format!("http://g%75est@{}/api/", broker.http), "--password-file", file],
        &["--user", "guest", "--password-file", file],
        // The options of the command override the URL.
        &["--url", &wrong, "--password-file", file],
    ] {
        broker.good(&[&["users", "--columns", "name", "--filter", "^guest$"], words].concat());
    }
    let by_input =
        broker.run(&["users", "--columns", "name", "--password-file", "-", "--user", "guest"], "guest\n");
    assert!(by_input.good().starts_with("name\nguest\n"));
    // No terminal, and no password.
    let reason = broker.bad(&["users", "--user", "alice"], 2);
    assert_eq!(
        reason,
        "there is no password for user 'alice': --password-file or HAIRSTREAK_HTTP_PASSWORD has one"
    );
}

fn a_login_that_is_refused_is_named(broker: &Broker) {
    let reason = broker.bad(&["queues", "--url", &format!("http://guest:secret@{}", broker.http)], 1);
    assert!(reason.starts_with(&format!("{} refuses user 'guest': ", broker.http)), "{reason}");
    assert!(!reason.contains("secret"), "{reason}");
    let reason = broker.bad(&["queues", "--password-file", "/no/such/file"], 1);
    assert!(reason.starts_with("cannot read /no/such/file: No such file"), "{reason}");
    let reason = broker.bad(&["queues", "--user", "a:b"], 2);
    assert!(reason.contains("'a:b' cannot log in over HTTP"), "{reason}");
}

fn tls_trusts_whom_it_is_told_to(broker: &Broker) {
    let url = format!("https://{}", broker.https);
    let certificate = |name: &str| format!("{CERTIFICATES}/{name}");
    broker.good(&["users", "--url", &url, "--ca", &certificate("ca.pem")]);
    let words = ["users", "--url", &url];
    broker.end(broker.command(&words).env("SSL_CERT_FILE", certificate("ca.pem")), &words, "").good();
    let reason = broker.bad(&["users", "--url", &url, "--ca", &certificate("stranger-ca.pem")], 1);
    assert!(
        reason.starts_with(&format!("TLS with {} failed: TLS handshake: none of the CA roots", broker.https)),
        "{reason}"
    );
    for (file, expected) in [("server.key", "no certificate in PEM in it"), ("none.pem", "No such file")] {
        let reason = broker.bad(&["users", "--url", &url, "--ca", &certificate(file)], 1);
        assert!(reason.starts_with(&format!("{}: {expected}", certificate(file))), "{reason}");
    }
    let reason = broker
        .bad(&["users", "--url", &format!("https://{}", broker.http), "--ca", &certificate("ca.pem")], 1);
    assert!(reason.starts_with(&format!("TLS with {} failed: ", broker.http)), "{reason}");
}

fn a_path_may_go_before_the_api(broker: &Broker) {
    let reason = broker.bad(&["queues", "--url", &format!("http://{}/rabbit/", broker.http)], 1);
    assert_eq!(reason, format!("there is no list of queues at http://{}/rabbit", broker.http));
}
