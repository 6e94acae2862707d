//! Pausing, resuming, ending and asking, by a handle and by a socket.

use std::time::Duration;

use hairstreak_socket::pipeline::{PullPattern, PushPattern};
use hairstreak_socket::{
    Context, Message, Options, Pair, ProxyEnd, Pub, Pull, Push, RecvError, Rep, Req, RunError, Sub,
};
use hairstreak_testkit::until_eq;

use crate::bridge::Bridge;
use crate::endpoints::endpoint;
use crate::{LONG, TRANSPORTS};

/// Long enough for messages to move on, if they can.
const PAUSE: Duration = Duration::from_millis(20);

type Streamer = Bridge<PullPattern, PushPattern>;

/// A word by hand or by socket.
type Say<'a> = &'a dyn Fn(&str);

fn check_pause(transport: &str, streamer: &Streamer, say: Say<'_>) {
    let options = Options::default();
    let (push, pull): (Push, Pull) = (streamer.enter(&options), streamer.leave(&options));
    let send = |text: &str| {
        push.send_timeout(text, LONG).unwrap();
        push.flush();
    };
    for round in 0..10 {
        send("before");
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"before", "{transport}");
        say("PAUSE");
        // What was under way when it was said may pass: a word is obeyed between two bursts.
        let mut passed = 0;
        let mut sent = 0;
        loop {
            send("meanwhile");
            sent += 1;
            match pull.recv_timeout(PAUSE) {
                Ok(_) => passed += 1,
                Err(RecvError::TimedOut) => break,
                Err(error) => panic!("{error}"),
            }
            assert!(passed < 1000, "{transport}: {round}: it is not paused");
        }
        say("RESUME");
        (passed..sent).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
    }
    assert_eq!(pull.try_recv(), Err(RecvError::WouldBlock));
}

#[test]
fn it_pauses_resumes_and_ends_by_its_handle() {
    for transport in TRANSPORTS {
        let streamer = Streamer::start(transport, &Options::default());
        let control = streamer.control.clone();
        check_pause(transport, &streamer, &|word| match word {
            "PAUSE" => control.pause(),
            _ => control.resume(),
        });
        let stats = streamer.end();
        assert_eq!(stats, control.statistics());
        assert!(stats.frontend.received >= 20);
        assert_eq!(stats.frontend.received, stats.backend.sent);
    }
}

#[test]
fn it_obeys_the_words_that_a_socket_receives() {
    for transport in TRANSPORTS {
        let rep = Rep::new(&Context::new()).unwrap();
        let place = rep.bind(&endpoint(transport)).unwrap().to_string();
        let streamer = Streamer::start_with(transport, &Options::default(), |proxy| {
            proxy.control_socket(&rep).unwrap();
        });
        let req = Req::new(&Context::new()).unwrap();
        req.connect(&place).unwrap();
        let ask = |word: &str| -> Message {
            req.send_timeout(word, LONG).unwrap();
            req.recv_timeout(LONG).unwrap()
        };
        check_pause(transport, &streamer, &|word| assert_eq!(ask(word).size(), 0));
        assert!(ask("PROCEED").body().starts_with(b"unknown command"));
        let numbers: Vec<u64> =
            ask("STATISTICS").frames().map(|frame| u64::from_ne_bytes(frame.try_into().unwrap())).collect();
        let stats = streamer.control.statistics();
        assert_eq!(numbers.len(), 8);
        assert_eq!((numbers[0], numbers[1]), (stats.frontend.received, stats.frontend.received_bytes));
        assert_eq!((numbers[6], numbers[7]), (stats.backend.sent, stats.backend.sent_bytes));
        assert_eq!(ask("TERMINATE").size(), 0);
        assert_eq!(streamer.join().unwrap(), stats);
    }
}

#[test]
fn a_pair_replies_to_questions_alone_and_a_subscriber_never() {
    let (pair, steering) = (Pair::new(&Context::new()).unwrap(), Pair::new(&Context::new()).unwrap());
    steering.connect(&pair.bind(&endpoint("inproc")).unwrap().to_string()).unwrap();
    let streamer = Streamer::start_with("tcp", &Options::default(), |proxy| {
        proxy.control_socket(&pair).unwrap();
    });
    for word in ["PAUSE", "RESUME", "STATISTICS", "TERMINATE"] {
        steering.send_timeout(word, LONG).unwrap();
    }
    assert_eq!(steering.recv_timeout(LONG).unwrap().frame_count(), 8);
    streamer.join().unwrap();
    assert_eq!(steering.try_recv(), Err(RecvError::WouldBlock));

    let (sub, publisher) = (Sub::new(&Context::new()).unwrap(), Pub::new(&Context::new()).unwrap());
    sub.subscribe("").unwrap();
    publisher.connect(&sub.bind(&endpoint("tcp")).unwrap().to_string()).unwrap();
    let streamer = Streamer::start_with("tcp", &Options::default(), |proxy| {
        proxy.control_socket(&sub).unwrap();
    });
    assert!(publisher.wait_for_subscribers(1, LONG));
    publisher.send("TERMINATE").unwrap();
    publisher.flush();
    streamer.join().unwrap();
}

#[test]
fn a_socket_that_is_closed_ends_it_but_for_that_which_steers() {
    for transport in TRANSPORTS {
        let rep = Rep::new(&Context::new()).unwrap();
        let streamer = Streamer::start_with(transport, &Options::default(), |proxy| {
            proxy.control_socket(&rep).unwrap();
        });
        rep.close();
        let options = Options::default();
        let (push, pull): (Push, Pull) = (streamer.enter(&options), streamer.leave(&options));
        push.send_timeout("x", LONG).unwrap();
        push.flush();
        pull.recv_timeout(LONG).unwrap();
        streamer.frontend.clone().close();
        assert!(matches!(streamer.join(), Err(RunError::Closed(ProxyEnd::Frontend))), "{transport}");
    }
    let streamer = Streamer::start("tcp", &Options::default());
    streamer.control.pause();
    streamer.backend.clone().close();
    assert!(matches!(streamer.join(), Err(RunError::Closed(ProxyEnd::Backend))));
}

#[test]
fn what_waits_while_it_is_paused_or_ended_passes_when_it_runs_again() {
    let context = Context::new();
    let (pull, push) = (Pull::new(&context).unwrap(), Push::new(&context).unwrap());
    let entrance = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let exit = push.bind(&endpoint("tcp")).unwrap().to_string();
    let mut proxy = hairstreak_socket::Proxy::new(&pull, &push).unwrap();
    let (sender, receiver) = (Push::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
    sender.connect(&entrance).unwrap();
    receiver.connect(&exit).unwrap();
    let control = proxy.control();
    for round in 1..=5u64 {
        sender.send_timeout("x", LONG).unwrap();
        sender.flush();
        let stats = std::thread::scope(|scope| {
            let running = scope.spawn(|| proxy.run().unwrap());
            receiver.recv_timeout(LONG).unwrap();
            until_eq("messages sent to the back", round, || control.statistics().backend.sent);
            control.terminate();
            running.join().unwrap()
        });
        assert_eq!(stats.backend.sent, round);
    }
    // Said before it runs, it holds.
    control.terminate();
    control.pause();
    assert_eq!(proxy.run().unwrap().backend.sent, 5);
}
