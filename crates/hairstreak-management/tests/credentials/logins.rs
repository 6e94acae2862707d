//! Credentials that are wrong, missing, or not allowed from here: the handshake ends with the protocol's ERROR, and says why.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hairstreak::service::{Refusal, RequestError, WorkerError};
use hairstreak::{AskError, Component, Credentials, ListError, OpenError, Scope};
use hairstreak_node::access::{PasswordHash, Tags};
use hairstreak_node::{FirstUser, NodeConfig, Server};
use hairstreak_socket::monitor::{EventKind, HandshakeFailure};
use hairstreak_socket::security::{Security, generate_key_pair};
use hairstreak_socket::{Context, Dealer, Options};

use crate::PATIENCE;
use crate::node::{Mechanism, Served, USERS, password_of};

/// Refused clients get the same answer: clients that call, serve, register, and list.
fn check_refused(served: &Served, credentials: &Credentials, reason: &str) {
    let call = served.client(credentials.clone()).call("echo", "hello").unwrap_err();
    assert!(
        matches!(&call, RequestError::Unauthorized { reason: said, .. } if said.contains(reason)),
        "{call}"
    );
    let serve = served.worker(credentials.clone(), "echo").run(|_| unreachable!()).unwrap_err();
    assert!(
        matches!(&serve, WorkerError::Unauthorized { reason: said, .. } if said.contains(reason)),
        "{serve}"
    );
    let node = served.node(credentials.clone());
    let register = node.queue("echo").scope(Scope::Global).open().unwrap_err();
    assert!(
        matches!(&register, OpenError::Directory { error: AskError::Refused { text, .. }, .. } if text.contains(reason)),
        "{register}"
    );
    let list = node.list("").unwrap_err();
    assert!(
        matches!(&list, ListError::Directory(AskError::Refused { text, .. }) if text.contains(reason)),
        "{list}"
    );
}

#[test]
fn wrong_credentials_are_refused_whatever_is_wrong_with_them() {
    let served = Served::start(false);
    let password = |user: &str, password: &str| Credentials::password(user, password).unwrap();
    let wrong = "user name or the password is wrong";
    for (user, given) in [
        ("writes", "wrong"),
        ("writes", ""),
        ("Writes", "writeswrites"),
        ("nobody", "nobody"),
        ("", ""),
        ("nothing", "everythingeverything"),
    ] {
        check_refused(&served, &password(user, given), wrong);
    }
    let (stranger, other) = (generate_key_pair().unwrap(), generate_key_pair().unwrap());
    check_refused(&served, &Credentials::curve(stranger, *served.node_keys.public()), "no user has this key");
    let misled = Credentials::curve(served.keys_of("everything").clone(), *other.public());
    check_refused(&served, &misled, "its key is another one");
}

#[test]
fn one_line_closes_this_host_too() {
    let served = Served::start(true);
    check_refused(&served, &Credentials::default(), "a user has to log in");
    for mechanism in [Mechanism::Plain, Mechanism::Curve] {
        let credentials = served.credentials("everything", mechanism);
        let node = served.node(credentials.clone());
        let queue = node.queue("echo").scope(Scope::Global).open().unwrap();
        assert_eq!(node.list("").unwrap().len(), 1);
        drop(queue);
        let worker = served.worker(credentials.clone(), "echo");
        let control = worker.control();
        let run = thread::spawn(move || worker.run(|request| Ok(request.body().into())));
        assert_eq!(served.client(credentials).call("echo", "hello").unwrap().body(), b"hello");
        control.leave();
        run.join().unwrap().unwrap();
    }
}

/// The status of an answer to GET.
fn status(place: SocketAddr, target: &str, user: Option<&str>) -> u16 {
    let mut stream = TcpStream::connect(place).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let login = user.map_or(String::new(), |user| {
        let credentials = STANDARD.encode(format!("{user}:{}", password_of(user)));
        format!("Authorization: Basic {credentials}\r\n")
    });
    write!(stream, "GET {target} HTTP/1.0\r\nHost: a\r\n{login}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_line_closes_health_checks_and_metrics_too() {
    const CHECKS: [&str; 4] = [
        "is-in-service",
        "ready-to-serve-clients",
        "reached-target-cluster-size",
        "below-node-connection-limit",
    ];
    for require_login in [false, true] {
        let served = Served::start(require_login);
        let checks = CHECKS.map(|name| format!("/api/health/checks/{name}"));
        let others = ["/api/version", "/api/auth"].map(str::to_owned);
        let of_http = checks.into_iter().chain(others).map(|target| (served.http(), target));
        for (place, target) in of_http.chain([(served.metrics(), "/metrics".to_owned())]) {
            let expected = if require_login { 401 } else { 200 };
            assert_eq!(status(place, &target, None), expected, "{target}, require_login: {require_login}");
            assert_eq!(status(place, &target, Some("everything")), 200, "{target}");
        }
        assert_eq!(status(served.http(), "/api/overview", None), 401);
    }
}

#[test]
fn ipc_and_shared_memory_know_users_and_this_host_too() {
    for require_login in [false, true] {
        let served = Served::start(require_login);
        for place in served.local_services() {
            let call = |credentials| served.client_at(&place, credentials).call("mmi.service", "echo");
            for mechanism in [Mechanism::Plain, Mechanism::Curve] {
                assert_eq!(call(served.credentials("reads", mechanism)).unwrap().body(), b"404");
                let refused =
                    served.client_at(&place, served.credentials("reads", mechanism)).call("echo", "");
                let code = Refusal::AccessRefused;
                assert!(matches!(&refused, Err(RequestError::Refused { refusal, .. }) if *refusal == code));
            }
            let wrong = call(Credentials::password("reads", "wrong").unwrap());
            assert!(matches!(wrong, Err(RequestError::Unauthorized { .. })), "{place}");
            let anybody = call(Credentials::default());
            assert_eq!(anybody.is_err(), require_login, "{place}");
        }
    }
}

#[test]
fn the_handshake_of_who_is_refused_ends_with_an_error_400() {
    let served = Served::start(true);
    let curve =
        Security::Curve { keys: generate_key_pair().unwrap(), server_key: *served.node_keys.public() };
    for place in [served.services(), served.directory()] {
        for security in [Security::Null, curve.clone()] {
            let dealer =
                Dealer::with_options(&Context::new(), Options { security, ..Options::default() }).unwrap();
            let monitor = dealer.monitor().unwrap();
            dealer.connect(&place).unwrap();
            let failure = loop {
                if let EventKind::HandshakeFailed { failure, .. } =
                    monitor.recv_timeout(PATIENCE).unwrap().kind
                {
                    break failure;
                }
            };
            assert_eq!(failure, HandshakeFailure::Auth { status: 400 });
        }
    }
}

#[test]
fn a_client_goes_on_to_the_broker_that_lets_it_in() {
    let (closed, open) = (Served::start(true), Served::start(false));
    let worker = open.worker(Credentials::default(), "echo");
    let control = worker.control();
    let run = thread::spawn(move || worker.run(|request| Ok(request.body().into())));
    let options = hairstreak::service::ClientOptions { timeout: Some(PATIENCE), ..Default::default() };
    let brokers = [closed.services(), open.services()];
    let brokers = [&*brokers[0], &brokers[1]];
    let client = hairstreak::service::Client::with_options(&brokers, options).unwrap();
    assert_eq!(client.call("echo", "hello").unwrap().body(), b"hello");
    control.leave();
    run.join().unwrap().unwrap();
}

#[test]
fn users_have_passwords_of_their_own() {
    // The tests above would pass if any password did.
    let served = Served::start(true);
    for (user, _) in USERS {
        let node = served.node(Credentials::password(user, &password_of(user)).unwrap());
        assert!(node.list("").unwrap().is_empty());
    }
}

#[test]
fn users_that_are_configured_anew_count_at_a_node_without_amqp() {
    let configured = |password: &str| {
        let password_hash = PasswordHash::of_salted([1, 2, 3, 4], password.as_bytes());
        let user =
            FirstUser { name: "ann".into(), password_hash, tags: Tags::default(), ..FirstUser::guest() };
        NodeConfig {
            require_login: true,
            users: vec![user],
            directory_bind: vec!["tcp://127.0.0.1:*".into()],
            ..NodeConfig::default()
        }
    };
    let server = Server::start(configured("one")).unwrap();
    let is_let_in = |password: &str| {
        let credentials = Credentials::password("ann", password).unwrap();
        let builder =
            Component::builder().directory(&server.endpoints()[0].to_string()).credentials(credentials);
        builder.patience(PATIENCE).build().unwrap().list("").is_ok()
    };
    assert_eq!((is_let_in("one"), is_let_in("two")), (true, false));
    server.reload(&configured("two")).unwrap();
    assert_eq!((is_let_in("one"), is_let_in("two")), (false, true));
}
