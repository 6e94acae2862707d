//! Authenticators of the application: what they are told, what they may do, and what becomes of their verdicts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hairstreak_socket::security::{
    Applicant, Authenticator, Credentials, Mechanisms, Security, Server, Verdict,
};
use hairstreak_socket::{Context, Options, Pull, Push};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::roles::{MECHANISMS, Roles, secured};

fn judged(roles: &Roles, judge: impl Fn(&Applicant) -> Verdict + Send + Sync + 'static) -> Options {
    let mechanisms = Mechanisms { null: true, plain: true, curve: Some(roles.server_keys.clone()) };
    secured(Security::Server(Server::new(mechanisms, Authenticator::callback(judge))))
}

fn accept() -> Verdict {
    Verdict::Accept { user_id: Some("judged".to_owned()) }
}

#[test]
fn the_application_sees_credentials_and_addresses_and_names_the_user() {
    for mechanism in MECHANISMS {
        let roles = Roles::new(mechanism);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let pull = Pull::with_options(
            &Context::new(),
            judged(&roles, {
                let seen = Arc::clone(&seen);
                move |applicant| {
                    seen.lock().unwrap().push(applicant.clone());
                    accept()
                }
            }),
        );
        let pull = pull.unwrap();
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let push = Push::with_options(&Context::new(), roles.client()).unwrap();
        push.connect(&place).unwrap();
        push.send_timeout("hello", LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"hello");
        let peer = &pull.peers()[0];
        assert_eq!(peer.user_id.as_deref(), Some("judged"));
        let expected = match mechanism {
            "null" => Credentials::Null,
            "plain" => Credentials::Plain { username: b"ann".to_vec(), password: b"secret".to_vec().into() },
            _ => Credentials::Curve { public_key: *roles.client_keys.public() },
        };
        let applicant = Applicant { credentials: expected, remote: peer.remote, endpoint: place };
        assert_eq!(*seen.lock().unwrap(), [applicant]);
    }
}

#[test]
fn a_client_that_is_to_try_later_is_let_in_later() {
    for mechanism in MECHANISMS {
        let roles = Roles::new(mechanism);
        let asked = AtomicUsize::new(0);
        let judge = move |_: &Applicant| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Verdict::TryLater,
            1 => panic!("a judge that fails refuses"),
            _ => accept(),
        };
        let pull = Pull::with_options(&Context::new(), judged(&roles, judge)).unwrap();
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let push = Push::with_options(&Context::new(), roles.client()).unwrap();
        push.connect(&place).unwrap();
        push.send_timeout("hello", LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"hello");
        assert_eq!(pull.stats().failed_connections, 2);
    }
}

#[test]
fn an_authenticator_may_use_sockets_even_its_own() {
    let roles = Roles::new("plain");
    let own = Arc::new(OnceLock::<Pull>::new());
    let judge = {
        let own = Arc::clone(&own);
        move |_: &Applicant| match own.get() {
            Some(pull) if pull.stats().peer_count == 0 && pull.peers().is_empty() => accept(),
            _ => Verdict::Refuse,
        }
    };
    let pull = Pull::with_options(&Context::new(), judged(&roles, judge)).unwrap();
    assert!(own.set(pull.clone()).is_ok());
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let push = Push::with_options(&Context::new(), roles.client()).unwrap();
    push.connect(&place).unwrap();
    push.send_timeout("hello", LONG).unwrap();
    assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"hello");
}
