//! `hairstreak proxy`: started, used, steered and ended by hand.

#[allow(dead_code, reason = "shared with the tests of serve, which read other lines")]
#[path = "workbench/daemon.rs"]
mod daemon;

use std::time::Duration;

use hairstreak_socket::{Context, Dealer, Pub, Pull, Push, Rep, Req, Sub};
use rustix::process::Signal;

use daemon::{Daemon, End};

/// A time limit that only a hanging test reaches.
const LONG: Duration = Duration::from_secs(60);

fn start(arguments: &[&str]) -> Daemon {
    Daemon::start("proxy", arguments)
}

#[test]
fn it_passes_messages_until_a_signal_and_says_how_many() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut proxying =
            start(&["--frontend", "ROUTER@tcp://127.0.0.1:*", "--backend", "dealer@tcp://127.0.0.1:*"]);
        let (entrance, exit) = (proxying.place("frontend"), proxying.place("backend"));
        let context = Context::new();
        let (req, rep) = (Req::new(&context).unwrap(), Rep::new(&Context::new()).unwrap());
        req.connect(&entrance).unwrap();
        rep.connect(&exit).unwrap();
        for _ in 0..10 {
            req.send_timeout("ask", LONG).unwrap();
            assert_eq!(rep.recv_timeout(LONG).unwrap().body(), b"ask");
            rep.send_timeout("answer", LONG).unwrap();
            assert_eq!(req.recv_timeout(LONG).unwrap().body(), b"answer");
        }
        // The ROUTER adds a name of five bytes to each message.
        let expected = "\
side      received  bytes  sent  bytes
frontend        10     80    10    110
backend         10    110    10     80
";
        let expected = End { status: Some(0), output: expected.to_owned(), errors: String::new() };
        assert_eq!(proxying.end_by(signal), expected);
    }
}

#[test]
fn it_connects_captures_and_is_steered() {
    let context = Context::new();
    let pull = Pull::new(&context).unwrap();
    let target = format!("PUSH@connect:{}", pull.bind("tcp://127.0.0.1:*").unwrap());
    let capture = Pull::new(&context).unwrap();
    let tap = format!("PUSH@connect:{}", capture.bind("tcp://127.0.0.1:*").unwrap());
    let mut proxying = start(&[
        "--frontend=PULL@tcp://127.0.0.1:*",
        "--frontend=PULL@tcp://127.0.0.1:*",
        &format!("--backend={target}"),
        &format!("--capture={tap}"),
        "--control=REP@tcp://127.0.0.1:*",
        "--json",
    ]);
    let entrances = [proxying.place("frontend"), proxying.place("frontend")];
    let wheel = proxying.place("control");
    for entrance in entrances {
        let push = Push::new(&context).unwrap();
        push.connect(&entrance).unwrap();
        push.send_timeout("message", LONG).unwrap();
        push.flush();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"message");
        assert_eq!(capture.recv_timeout(LONG).unwrap().body(), b"message");
    }
    let req = Req::new(&context).unwrap();
    req.connect(&wheel).unwrap();
    req.send_timeout("TERMINATE", LONG).unwrap();
    assert_eq!(req.recv_timeout(LONG).unwrap().size(), 0);
    let End { status, output, errors } = proxying.end();
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    let numbers: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(
        (&numbers["frontend"]["received"], &numbers["backend"]["sent_bytes"]),
        (&2.into(), &14.into())
    );
    assert_eq!((&numbers["refused"], &numbers["in_hand"]), (&0.into(), &0.into()));
}

#[test]
fn a_sub_at_the_front_gets_everything() {
    let context = Context::new();
    let publisher = Pub::new(&context).unwrap();
    let source = format!("SUB@connect:{}", publisher.bind("tcp://127.0.0.1:*").unwrap());
    let mut proxying = start(&["--frontend", &source, "--backend", "PUB@tcp://127.0.0.1:*"]);
    let sub = Sub::new(&context).unwrap();
    sub.connect(&proxying.place("backend")).unwrap();
    sub.subscribe("x").unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG));
    // The subscription reaches the PUB of the proxy with a delay.
    let got = (0..6000).find_map(|_| {
        publisher.send_timeout("xyz", LONG).unwrap();
        publisher.flush();
        sub.recv_timeout(Duration::from_millis(10)).ok()
    });
    assert_eq!(got.unwrap().body(), b"xyz");
    assert_eq!(proxying.end_by(Signal::TERM).status, Some(0));
}

#[test]
fn a_peer_that_takes_nothing_does_not_keep_it_from_ending() {
    let mut proxying = start(&[
        "--frontend=DEALER@tcp://127.0.0.1:*",
        "--backend=DEALER@tcp://127.0.0.1:*",
        "--linger=10ms",
    ]);
    let (front, back) = (Dealer::new(&Context::new()).unwrap(), Dealer::new(&Context::new()).unwrap());
    front.connect(&proxying.place("frontend")).unwrap();
    back.connect(&proxying.place("backend")).unwrap();
    assert!(back.wait_for_peers(1, LONG));
    while front.send_timeout(&[0; 100_000], Duration::from_millis(100)).is_ok() {}
    let End { status, output, errors } = proxying.end_by(Signal::TERM);
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert!(output.lines().count() >= 3, "{output}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let cases: [(&[&str], i32, &str); 5] = [
        (
            &["--frontend=PUSH@tcp://127.0.0.1:*", "--backend=PUSH@tcp://127.0.0.1:*"],
            2,
            "hairstreak: nothing can pass between PUSH and PUSH\n",
        ),
        (
            &["--frontend=REP@tcp://127.0.0.1:*", "--backend=DEALER@tcp://127.0.0.1:*"],
            2,
            "hairstreak: a REP socket cannot be the frontend of a proxy\n",
        ),
        (
            &[
                "--frontend=PULL@tcp://127.0.0.1:*",
                "--frontend=SUB@tcp://127.0.0.1:*",
                "--backend=PUSH@tcp://127.0.0.1:*",
            ],
            2,
            "hairstreak: --frontend: PULL and SUB: it is one socket, of one type\n",
        ),
        (
            &[
                "--frontend=PULL@tcp://127.0.0.1:*",
                "--backend=PUSH@tcp://127.0.0.1:*",
                "--control=ROUTER@tcp://127.0.0.1:*",
            ],
            2,
            "hairstreak: a ROUTER socket cannot be the control of a proxy\n",
        ),
        (&["--frontend=PULL@nonsense", "--backend=PUSH@tcp://127.0.0.1:*"], 2, ""),
    ];
    for (arguments, expected, line) in cases {
        let End { status, errors, .. } = start(arguments).end();
        assert_eq!(status, Some(expected), "{arguments:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.starts_with("hairstreak: ") && (line.is_empty() || errors == line), "{errors}");
    }
    for arguments in [
        &["--frontend=PULL@tcp://127.0.0.1:*"][..],
        &["--frontend=tcp://127.0.0.1:*", "--backend=PUSH@tcp://127.0.0.1:*"],
        &["--frontend=PULL@inproc://x", "--backend=PUSH@tcp://127.0.0.1:*"],
    ] {
        let End { status, errors, .. } = start(arguments).end();
        assert_eq!(status, Some(2), "{arguments:?}: {errors}");
    }
}

#[test]
fn an_endpoint_in_use_is_one_clear_line() {
    let mut first = start(&["--frontend=PULL@tcp://127.0.0.1:*", "--backend=PUSH@tcp://127.0.0.1:*"]);
    let place = first.place("frontend");
    let second = start(&[&format!("--frontend=PULL@{place}"), "--backend=PUSH@tcp://127.0.0.1:*"]);
    let End { status, errors, .. } = second.end();
    assert_eq!((status, errors), (Some(1), format!("hairstreak: cannot bind {place}: it is in use\n")));
    assert_eq!(first.end_by(Signal::TERM).status, Some(0));
}
