//! Our own sockets with each other.

use hairstreak_socket::security::{Authenticator, Mechanisms, Security, Server};
use hairstreak_socket::{Context, Dealer, Options, Pull, Push, Router};
use hairstreak_testkit::until_at_least;

use crate::endpoints::endpoint;
use crate::messages::{ask_all, echo_all, receive_all, send_all};
use crate::roles::{MECHANISMS, Roles, secured};
use crate::{LONG, relay::Relay};

const COUNT: usize = 500;

/// For each transport and mechanism, and whether the server binds.
fn check(case: impl Fn(&str, &Roles, bool)) {
    for transport in ["tcp", "ipc", "inproc"] {
        for mechanism in MECHANISMS {
            for server_binds in [true, false] {
                println!("{transport}, {mechanism}, server binds: {server_binds}");
                case(transport, &Roles::new(mechanism), server_binds);
            }
        }
    }
}

#[test]
fn all_that_is_pushed_is_pulled_whoever_binds() {
    check(|transport, roles, server_binds| {
        let pull = Pull::with_options(&Context::new(), roles.server()).unwrap();
        let push = Push::with_options(&Context::new(), roles.client()).unwrap();
        if server_binds {
            push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        } else {
            pull.connect(&push.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| send_all(&push, COUNT));
            receive_all(&pull, COUNT);
        });
        let user_id = if transport == "inproc" { None } else { roles.user_id() };
        assert_eq!(pull.peers()[0].user_id, user_id);
        assert_eq!(push.peers()[0].user_id, None);
    });
}

#[test]
fn questions_are_echoed_whoever_serves() {
    check(|transport, roles, server_asks| {
        let (ask, echo) =
            if server_asks { (roles.server(), roles.client()) } else { (roles.client(), roles.server()) };
        let router = Router::with_options(&Context::new(), echo).unwrap();
        let dealer = Dealer::with_options(&Context::new(), ask).unwrap();
        dealer.connect(&router.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| echo_all(&router, COUNT));
            ask_all(&dealer, COUNT);
        });
    });
}

/// A server of all mechanisms that knows the client of `roles`.
fn server_of_all(roles: &Roles) -> Options {
    let mechanisms = Mechanisms { null: true, plain: true, curve: Some(roles.server_keys.clone()) };
    secured(Security::Server(Server::new(mechanisms, Authenticator::Table(roles.table()))))
}

#[test]
fn one_listener_takes_clients_of_every_mechanism() {
    for transport in ["tcp", "ipc"] {
        let all = MECHANISMS.map(Roles::new);
        let [_, _, curve] = &all;
        let pull = Pull::with_options(&Context::new(), server_of_all(curve)).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let pushes = all.each_ref().map(|roles| {
            let push = Push::with_options(&Context::new(), roles.client()).unwrap();
            push.connect(&place).unwrap();
            push.send_timeout("hello", LONG).unwrap();
            push
        });
        assert!(pull.wait_for_peers(3, LONG));
        for _ in &pushes {
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"hello");
        }
        let mut users: Vec<Option<String>> = pull.peers().into_iter().map(|peer| peer.user_id).collect();
        users.sort();
        assert_eq!(users, [None, Some("ann".to_owned()), Some("ann's key".to_owned())]);
        assert_eq!(pull.stats().failed_connections, 0);
    }
}

#[test]
fn a_server_that_accepts_nothing_cannot_be_opened() {
    for mechanisms in [Mechanisms::default(), Mechanisms { plain: true, ..Mechanisms::default() }] {
        let accepts_one = mechanisms != Mechanisms::default();
        let server = Server::new(mechanisms, Authenticator::Table(Default::default()));
        let opened = Pull::with_options(&Context::new(), secured(Security::Server(server)));
        assert_eq!(opened.is_ok(), accepts_one);
    }
}

#[test]
fn who_listens_in_reads_passwords_and_messages_of_plain_and_neither_of_curve() {
    for (mechanism, readable) in [("plain", true), ("curve", false)] {
        let roles = Roles::new(mechanism);
        let router = Router::with_options(&Context::new(), roles.server()).unwrap();
        let relay = Relay::start(&router.bind(&endpoint("tcp")).unwrap().to_string());
        let dealer = Dealer::with_options(
            &Context::new(),
            Options { routing_id: Some(b"my-name".to_vec()), ..roles.client() },
        );
        let dealer = dealer.unwrap();
        dealer.connect(relay.place()).unwrap();
        dealer.send_timeout("a confidential question", LONG).unwrap();
        dealer.flush();
        let question = router.recv_timeout(LONG).unwrap();
        assert_eq!(question.frames().last(), Some(&b"a confidential question"[..]));
        router.send_timeout(&question, LONG).unwrap();
        router.flush();
        dealer.recv_timeout(LONG).unwrap();
        let heard = relay.heard();
        for text in ["a confidential question", "my-name", "Socket-Type"] {
            let found = heard.windows(text.len()).any(|window| window == text.as_bytes());
            assert_eq!(found, readable, "{mechanism}: {text}");
        }
        for secret in [roles.client_keys.secret(), roles.server_keys.secret()] {
            assert!(!heard.windows(32).any(|window| window == secret.as_bytes()));
        }
        assert!(
            !heard.windows(32).any(|window| window == roles.client_keys.public().as_bytes()),
            "who asks is hidden"
        );
    }
}

#[test]
fn heartbeats_go_to_and_fro_sealed() {
    let roles = Roles::new("curve");
    let pull = Pull::with_options(&Context::new(), roles.server()).unwrap();
    let relay = Relay::start(&pull.bind(&endpoint("tcp")).unwrap().to_string());
    let options = Options { heartbeat_ms: 10, ..roles.client() };
    let push = Push::with_options(&Context::new(), options).unwrap();
    push.connect(relay.place()).unwrap();
    assert!(push.wait_for_peers(1, LONG) && pull.wait_for_peers(1, LONG));
    // A sealed PING is 42 bytes long and its PONG 40; without an answer there is no second PING.
    until_at_least("bytes of heartbeats", relay.heard().len() + 10 * (42 + 40), || relay.heard().len());
    assert!(!relay.heard().windows(4).any(|window| window == b"PING" || window == b"PONG"));
    send_all(&push, 10);
    receive_all(&pull, 10);
    assert_eq!((push.stats().failed_connections, pull.stats().failed_connections), (0, 0));
}

#[test]
fn short_messages_that_gather_are_sealed_each_by_itself() {
    const BURST_COUNT: usize = 20_000;
    let roles = Roles::new("curve");
    let pull = Pull::with_options(&Context::new(), roles.server()).unwrap();
    let relay = Relay::start(&pull.bind(&endpoint("tcp")).unwrap().to_string());
    let push = Push::with_options(&Context::new(), roles.client()).unwrap();
    push.connect(relay.place()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..BURST_COUNT).for_each(|_| push.send(b"a short secret").unwrap());
            push.flush();
        });
        for _ in 0..BURST_COUNT {
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"a short secret");
        }
    });
    let heard = relay.heard();
    assert!(heard.len() >= BURST_COUNT * (2 + 33 + 14));
    assert!(!heard.windows(14).any(|window| window == b"a short secret"));
}
