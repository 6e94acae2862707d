//! Our sockets with libzmq's, in both roles of each mechanism, whoever binds.

use hairstreak_socket::{
    Context, Dealer, Message, Options, Pattern, Pub, Pull, Push, Rep, Req, Router, Socket, Sub,
};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::messages::{ask_all, echo_all, message, published, receive_all, send_all};
use crate::roles::{MECHANISMS, Roles};
use crate::script::Script;

const COUNT: usize = 500;

/// For each mechanism: our options, the script's role, and what we call the script if we are the server.
fn check(case: impl Fn(&str, bool, Options, Vec<String>, Option<String>)) {
    for transport in ["tcp", "ipc"] {
        for mechanism in MECHANISMS {
            let roles = Roles::new(mechanism);
            for they_bind in [true, false] {
                println!("{transport}, {mechanism}, pyzmq binds: {they_bind}");
                case(transport, they_bind, roles.client(), roles.server_arguments(), None);
                case(transport, they_bind, roles.server(), roles.client_arguments(), roles.user_id());
            }
        }
    }
}

/// Joins `ours` with a new script, one of which binds.
fn join<P: Pattern>(
    ours: &Socket<P>,
    transport: &str,
    they_bind: bool,
    kind: &str,
    role: Vec<String>,
) -> Script {
    let start = |join: &str, place: String| {
        let arguments = [kind, join, &place, &COUNT.to_string()].map(str::to_owned);
        Script::python("secure.py", arguments.into_iter().chain(role.iter().cloned()))
    };
    if !they_bind {
        return start("connect", ours.bind(&endpoint(transport)).unwrap().to_string());
    }
    let mut script = start("bind", endpoint(transport));
    ours.connect(&script.hear("bound")).unwrap();
    script
}

fn finish(mut script: Script) {
    script.hear("done");
    script.say("end");
    script.finish();
}

#[test]
fn what_libzmq_pushes_is_pulled() {
    check(|transport, they_bind, options, role, user_id| {
        let pull = Pull::with_options(&Context::new(), options).unwrap();
        let script = join(&pull, transport, they_bind, "push", role);
        receive_all(&pull, COUNT);
        // The script may have ended its connection by now, but nobody else was there.
        assert!(pull.peers().iter().all(|peer| peer.user_id == user_id));
        finish(script);
    });
}

#[test]
fn what_is_pushed_is_pulled_by_libzmq() {
    check(|transport, they_bind, options, role, user_id| {
        let push = Push::with_options(&Context::new(), options).unwrap();
        let script = join(&push, transport, they_bind, "pull", role);
        send_all(&push, COUNT);
        assert!(push.peers().iter().all(|peer| peer.user_id == user_id));
        finish(script);
    });
}

#[test]
fn libzmq_echoes_what_it_is_asked() {
    check(|transport, they_bind, options, role, _| {
        let dealer = Dealer::with_options(&Context::new(), options).unwrap();
        let script = join(&dealer, transport, they_bind, "router", role);
        ask_all(&dealer, COUNT);
        finish(script);
    });
}

#[test]
fn libzmq_is_echoed_what_it_asks() {
    check(|transport, they_bind, options, role, _| {
        let router = Router::with_options(&Context::new(), options).unwrap();
        let script = join(&router, transport, they_bind, "dealer", role);
        echo_all(&router, COUNT);
        finish(script);
    });
}

#[test]
fn what_is_published_reaches_a_libzmq_subscriber() {
    check(|transport, they_bind, options, role, user_id| {
        let publisher = Pub::with_options(&Context::new(), options).unwrap();
        let script = join(&publisher, transport, they_bind, "sub", role);
        assert!(publisher.wait_for_subscribers_to("t", 1, LONG));
        for number in 0..COUNT {
            publisher.send_timeout(&published(number), LONG).unwrap();
            publisher.send_timeout("u: nobody subscribed to this", LONG).unwrap();
        }
        publisher.flush();
        assert!(publisher.peers().iter().all(|peer| peer.user_id == user_id));
        finish(script);
    });
}

#[test]
fn what_libzmq_publishes_reaches_a_subscriber() {
    check(|transport, they_bind, options, role, user_id| {
        let subscriber = Sub::with_options(&Context::new(), options).unwrap();
        subscriber.subscribe("t").unwrap();
        let mut script = join(&subscriber, transport, they_bind, "pub", role);
        let mut got = subscriber.recv_timeout(LONG).unwrap();
        script.say("go");
        while got.body() == b"tsync" {
            got = subscriber.recv_timeout(LONG).unwrap();
        }
        assert_eq!(got, published(0));
        for number in 1..COUNT {
            assert_eq!(subscriber.recv_timeout(LONG).unwrap(), published(number));
        }
        assert!(subscriber.peers().iter().all(|peer| peer.user_id == user_id));
        finish(script);
    });
}

#[test]
fn libzmq_answers_what_it_is_asked() {
    check(|transport, they_bind, options, role, _| {
        let asks = Req::with_options(&Context::new(), options).unwrap();
        let script = join(&asks, transport, they_bind, "rep", role);
        for number in 0..COUNT {
            let question = Message::from_frames(message(number));
            asks.send_timeout(&question, LONG).unwrap();
            assert_eq!(asks.recv_timeout(LONG).unwrap(), question, "question {number}");
        }
        finish(script);
    });
}

#[test]
fn libzmq_is_answered_what_it_asks() {
    check(|transport, they_bind, options, role, _| {
        if role[0].ends_with("-server") {
            // No REQ of libzmq 4.3 can serve: its session takes the client's user id for a bad reply, and
            // closes the connection.
            return;
        }
        let answers = Rep::with_options(&Context::new(), options).unwrap();
        let script = join(&answers, transport, they_bind, "req", role);
        for _ in 0..COUNT {
            answers.send_timeout(&answers.recv_timeout(LONG).unwrap(), LONG).unwrap();
        }
        answers.flush();
        finish(script);
    });
}
