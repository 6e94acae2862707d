//! Authenticators of the application: what they are told, what they may do, and what becomes of their verdicts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use std::sync::mpsc::channel;
use std::thread;

use hairstreak_socket::reqrep::user_of;
use hairstreak_socket::security::{
    Answer, Applicant, Authenticator, Credentials, Mechanisms, Security, Server, Verdict,
};
use hairstreak_socket::{Context, Dealer, Options, Pull, Push, Router, RouterNotify};
use hairstreak_testkit::until_at_least;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::roles::{MECHANISMS, Roles, secured};

fn judged(roles: &Roles, judge: impl Fn(&Applicant) -> Verdict + Send + Sync + 'static) -> Options {
    served(roles, Authenticator::callback(judge))
}

fn served(roles: &Roles, authenticator: Authenticator) -> Options {
    let mechanisms = Mechanisms { null: true, plain: true, curve: Some(roles.server_keys.clone()) };
    secured(Security::Server(Server::new(mechanisms, authenticator)))
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

#[test]
fn a_verdict_may_come_later_from_another_thread_while_others_are_served() {
    for mechanism in MECHANISMS {
        let roles = Roles::new(mechanism);
        let (asking, asked) = channel::<Answer>();
        let is_first = AtomicUsize::new(0);
        let judge = move |_: Applicant, answer: Answer| match is_first.fetch_add(1, Ordering::Relaxed) {
            0 => asking.send(answer).unwrap(),
            _ => answer.give(accept()),
        };
        let pull = Pull::with_options(&Context::new(), served(&roles, Authenticator::deferred(judge)));
        let pull = pull.unwrap();
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let [late, early] = [(), ()].map(|()| {
            let push = Push::with_options(&Context::new(), roles.client()).unwrap();
            push.connect(&place).unwrap();
            push
        });
        let answer = asked.recv_timeout(LONG).unwrap();
        early.send_timeout("early", LONG).unwrap();
        // The first client waits, and no other client waits for it.
        let first = pull.recv_timeout(LONG).unwrap();
        let late_is_asked_about = first.body() == b"early";
        let [waiting, other] = if late_is_asked_about { [&late, &early] } else { [&early, &late] };
        assert_eq!(pull.stats().peer_count, 1);
        assert!(other.stats().peer_count == 1 && waiting.stats().peer_count == 0);
        let give = thread::spawn(move || answer.give(accept()));
        waiting.send_timeout("late", LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"late");
        give.join().unwrap();
        assert_eq!(pull.stats().failed_connections, 0);
    }
}

#[test]
fn an_answer_that_is_dropped_refuses_and_one_that_comes_too_late_does_nothing() {
    let roles = Roles::new("plain");
    let (asking, asked) = channel::<Answer>();
    let authenticator = Authenticator::deferred(move |_, answer| asking.send(answer).unwrap());
    let options = Options { handshake_timeout_ms: 100, ..served(&roles, authenticator) };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let push = Push::with_options(&Context::new(), roles.client()).unwrap();
    push.connect(&place).unwrap();
    drop(asked.recv_timeout(LONG).unwrap());
    let failed = |count| until_at_least("failed connections", count, || pull.stats().failed_connections);
    failed(1);
    let late = asked.recv_timeout(LONG).unwrap();
    failed(2);
    late.give(accept());
    assert_eq!(pull.stats().peer_count, 0);
    asked.recv_timeout(LONG).unwrap().give(accept());
    push.send_timeout("hello", LONG).unwrap();
    assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"hello");
}

#[test]
fn a_router_that_assigns_ids_names_the_user_and_no_peer_chooses_its_name() {
    for (mechanism, user) in [("null", None), ("plain", Some("judged"))] {
        let roles = Roles::new(mechanism);
        let verdict = move || Verdict::Accept { user_id: user.map(str::to_owned) };
        let mechanisms = Mechanisms { null: true, plain: true, curve: None };
        let server = Server::new(mechanisms, Authenticator::callback(move |_| verdict())).assigning_ids();
        let router_notify = RouterNotify { connect: true, disconnect: true };
        let options = Options { router_notify, ..secured(Security::Server(server)) };
        let router = Router::with_options(&Context::new(), options).unwrap();
        let place = router.bind(&endpoint("tcp")).unwrap().to_string();
        let mut names = Vec::new();
        for _ in 0..2 {
            // A name that looks like one of another user.
            let routing_id = Some(b"x0001@other".to_vec());
            let dealer =
                Dealer::with_options(&Context::new(), Options { routing_id, ..roles.client() }).unwrap();
            dealer.connect(&place).unwrap();
            dealer.send_timeout("hello", LONG).unwrap();
            dealer.close();
            // Coming, message, going; the peer may be gone before any of them is received.
            for body in [&b""[..], b"hello", b""] {
                let message = router.recv_timeout(LONG).unwrap();
                assert_eq!((user_of(message.frame(0).unwrap()), message.frame(1).unwrap()), (user, body));
                names.push(message.frame(0).unwrap().to_vec());
            }
        }
        assert!(names[..3].iter().all(|name| *name == names[0]), "{names:?}");
        assert_ne!(names[0], names[3]);
        assert_eq!(names[0].len(), 5 + user.map_or(0, |user| 1 + user.len()));
    }
}
