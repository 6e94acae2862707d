//! The receivers: a PULL of ours and one of pyzmq, which begin when it suits the run.

use std::time::Duration;

use hairstreak_socket::{Context, Drops, Pull, RecvError};

use crate::LONG;
use crate::home::Home;
use crate::run::{Behind, Run};
use crate::script::Script;
use crate::stream::Tally;

/// Every transport on which two sockets of ours meet, in one process or in two.
const BETWEEN_PROCESSES: [&str; 4] = ["tcp", "ipc", "ipc without shm", "shm"];

fn receive(pull: &Pull, run: &Run, count: u64) -> Tally {
    let mut tally = Tally::default();
    for number in 0..count {
        match pull.recv_timeout(LONG) {
            Ok(message) => tally.add_message(&message),
            Err(error) => panic!("{run:?}: message {number} of {count}: {error}, {:?}", pull.stats()),
        }
    }
    tally
}

/// Our PULL gets all that a sender sends who lives there.
fn check(transport: &str, home: impl Fn(&Run) -> Home) {
    for mut run in Run::all(transport) {
        let pull = Pull::with_options(&Context::new(), run.options()).unwrap();
        if !run.sender_binds {
            run.place = pull.bind(&run.place).unwrap().to_string();
        }
        let mut sender = home(&run);
        if run.sender_binds {
            pull.connect(&sender.hear("bound")).unwrap();
        }
        let (sent, received) = if run.behind == Behind::Marks {
            let received = receive(&pull, &run, run.count as u64);
            (sender.hear_closed().1, received)
        } else {
            let (count, sent) = sender.hear_closed();
            (sent, receive(&pull, &run, count))
        };
        println!("{run:?}: {sent}");
        assert_eq!(received.text(), sent, "{run:?}");
        assert_eq!(pull.recv_timeout(Duration::ZERO), Err(RecvError::TimedOut), "{run:?}");
        assert_eq!(pull.stats().drops, Drops::default(), "{run:?}");
        sender.finish();
    }
}

/// pyzmq's PULL gets all that a sender sends who lives there.
fn check_pyzmq(transport: &str, home: impl Fn(&Run) -> Home) {
    let mut script = Script::python("closing.py", [""; 0]);
    for run in Run::all(transport).map(|run| Run { sender_binds: true, ..run }) {
        let mut sender = home(&run);
        script.say(&format!("pull {} {}", sender.hear("bound"), 10 * u64::from(run.heartbeats)));
        script.hear("connected");
        let sent = if run.behind == Behind::Marks {
            script.say(&format!("receive {}", run.count));
            sender.hear_closed().1
        } else {
            let (count, sent) = sender.hear_closed();
            script.say(&format!("receive {count}"));
            sent
        };
        println!("{run:?}, pyzmq: {sent}");
        assert_eq!(script.hear("tally"), sent, "{run:?}");
        sender.finish();
    }
    script.finish();
}

#[test]
fn a_thread_gets_all_that_a_closed_socket_of_its_process_sent() {
    for transport in ["inproc"].into_iter().chain(BETWEEN_PROCESSES) {
        check(transport, Home::thread);
    }
}

#[test]
fn a_process_gets_all_that_a_process_sent_that_has_ended() {
    for transport in BETWEEN_PROCESSES {
        check(transport, Home::process);
    }
}

#[test]
fn pyzmq_gets_all_that_a_process_sent_that_has_ended() {
    for transport in ["tcp", "ipc"] {
        check_pyzmq(transport, Home::process);
    }
}
