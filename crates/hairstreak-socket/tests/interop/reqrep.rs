//! DEALER and ROUTER: questions and answers with every libzmq socket that talks to them, and the names
//! that ROUTERs give their peers.

use std::thread;

use hairstreak_socket::{Context, Dealer, Message, Options, Pattern, Pull, Router, Socket};
use hairstreak_testkit::until;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::script::Script;
use crate::stream::{Stream, Tally};

const COUNT: usize = 1000;

/// Joins `ours` with a new script, one of which binds.
fn join<P: Pattern>(ours: &Socket<P>, transport: &str, they_bind: bool, role: &str, rest: &[&str]) -> Script {
    let start = |join: &str, place: String| {
        let arguments = [role, join, &place, &COUNT.to_string()].map(str::to_owned);
        Script::python("reqrep.py", arguments.into_iter().chain(rest.iter().map(|s| s.to_string())))
    };
    if !they_bind {
        return start("connect", ours.bind(&endpoint(transport)).unwrap().to_string());
    }
    let mut script = start("bind", endpoint(transport));
    ours.connect(&script.hear("bound")).unwrap();
    script
}

/// Runs `case` for tcp and ipc, each side binding in turn.
fn check(case: impl Fn(&str, bool)) {
    for transport in ["tcp", "ipc"] {
        for they_bind in [true, false] {
            case(transport, they_bind);
        }
    }
}

/// Answers `COUNT` questions of one peer and returns what the ROUTER called it.
fn answer(router: &Router) -> Vec<u8> {
    let mut name = Vec::new();
    for number in 0..COUNT {
        let question = router.recv_timeout(LONG).unwrap();
        let frames: Vec<&[u8]> = question.frames().collect();
        let [id, b"", body] = frames[..] else { panic!("question {number}: {question:?}") };
        assert_eq!(body, number.to_string().as_bytes());
        if number == 0 {
            name = id.to_vec();
        }
        assert_eq!(id, name);
        router.send_timeout(&[id, b"", format!("re:{number}").as_bytes()], LONG).unwrap();
    }
    name
}

#[test]
fn a_router_answers_pyzmq_req() {
    check(|transport, they_bind| {
        let router = Router::new(&Context::new()).unwrap();
        let mut req = join(&router, transport, they_bind, "req", &[]);
        let name = answer(&router);
        assert_eq!((name.len(), name[0]), (5, 0), "an automatic name");
        req.hear("done");
        req.finish();
    });
}

#[test]
fn a_router_calls_pyzmq_dealers_by_their_names() {
    check(|transport, they_bind| {
        let router = Router::new(&Context::new()).unwrap();
        for name in ["x", "a much longer name: ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"] {
            let mut dealer = join(&router, transport, they_bind, "dealer", &[name]);
            assert_eq!(answer(&router), name.as_bytes());
            dealer.hear("done");
            dealer.finish();
        }
    });
}

#[test]
fn a_dealer_asks_pyzmq_rep() {
    check(|transport, they_bind| {
        let dealer = Dealer::new(&Context::new()).unwrap();
        let mut rep = join(&dealer, transport, they_bind, "rep", &[]);
        for number in 0..COUNT {
            dealer.send_timeout(&[b"" as &[u8], number.to_string().as_bytes()], LONG).unwrap();
        }
        for number in 0..COUNT {
            let reply = dealer.recv_timeout(LONG).unwrap();
            assert_eq!(reply, Message::from_frames(["", &format!("re:{number}")]));
        }
        rep.hear("done");
        rep.finish();
    });
}

#[test]
fn pyzmq_router_echoes_all_that_a_dealer_streams() {
    check(|transport, they_bind| {
        let dealer = Dealer::new(&Context::new()).unwrap();
        let mut router = join(&dealer, transport, they_bind, "router", &[]);
        let sender = thread::spawn({
            let dealer = dealer.clone();
            move || {
                let (mut stream, mut tally) = (Stream::new(7), Tally::default());
                for _ in 0..COUNT {
                    let frames = stream.draw();
                    dealer.send_timeout(&frames[..], LONG).unwrap();
                    tally.add(frames.iter().copied());
                }
                tally.text()
            }
        });
        let mut tally = Tally::default();
        for number in 0..COUNT {
            let echo = dealer.recv_timeout(LONG);
            tally.add_message(&echo.unwrap_or_else(|e| panic!("{transport}: echo {number}: {e}")));
        }
        assert_eq!(tally.text(), sender.join().unwrap());
        router.hear("asked");
        router.hear("done");
        router.finish();
    });
}

/// What pyzmq ROUTER calls a DEALER with this routing id, as hex digits.
fn name_at_pyzmq_router(transport: &str, they_bind: bool, routing_id: Option<&[u8]>) -> String {
    let options = Options { routing_id: routing_id.map(<[u8]>::to_vec), ..Options::default() };
    let dealer = Dealer::with_options(&Context::new(), options).unwrap();
    let mut router = join(&dealer, transport, they_bind, "router", &[]);
    for _ in 0..COUNT {
        dealer.send_timeout("who am I?", LONG).unwrap();
        assert_eq!(dealer.recv_timeout(LONG).unwrap().body(), b"who am I?");
    }
    let name = router.hear("asked");
    router.hear("done");
    router.finish();
    name
}

#[test]
fn pyzmq_router_calls_a_dealer_by_its_name() {
    check(|transport, they_bind| {
        assert_eq!(name_at_pyzmq_router(transport, they_bind, Some(b"me\xff")), "6d65ff");
        let automatic = name_at_pyzmq_router(transport, they_bind, None);
        assert!(automatic.len() == 10 && automatic.starts_with("00"), "{automatic}");
    });
}

#[test]
fn a_socket_of_the_wrong_type_is_refused_and_counted() {
    let pull = Pull::new(&Context::new()).unwrap();
    let _req = join(&pull, "tcp", false, "req", &[]);
    until("the peer is refused", || pull.stats().failed_connections > 0);
    assert_eq!(pull.stats().peer_count, 0);
}
