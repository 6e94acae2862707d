//! Real processes that are killed, or fall silent.
//!
//! The process that dies is this test binary, started again to run `the_victim` alone.

use std::process::{Child, Command, Stdio};

use hairstreak_socket::monitor::{DisconnectCause, EventKind};
use hairstreak_socket::{Context, Options, Pull, Push};
use rustix::process::{Pid, Signal, kill_process};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::script::Script;
use crate::witness::Witness;

const PLACE: &str = "HAIRSTREAK_TEST_PUSHES_TO";

struct Victim(Child);

impl Victim {
    fn start(place: &str) -> Victim {
        let mut victim = Command::new(std::env::current_exe().unwrap());
        let victim = victim.args(["peers::the_victim", "--exact"]).env(PLACE, place).stdout(Stdio::null());
        Victim(victim.spawn().unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // Only a child that has been waited for cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that is killed. Run with the others it has nobody to die for.
#[test]
fn the_victim() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&place).unwrap();
    push.send(b"here").unwrap();
    push.flush();
    std::thread::park_timeout(LONG);
}

#[test]
fn a_process_that_is_killed_is_told_at_once_and_its_successor_is_another_connection() {
    // Silence would be noticed only long after the test has given up.
    let patient = Options { heartbeat_ms: 600_000, ..Options::default() };
    for transport in ["tcp", "ipc", "shm"] {
        let pull = Pull::with_options(&Context::new(), patient.clone()).unwrap();
        let mut monitor = Witness::of(&pull);
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let mut last = None;
        for _ in 0..3 {
            let victim = Victim::start(&place);
            let ready = monitor.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
            assert!(ready.connection > last);
            if transport != "tcp" {
                monitor.expect(EventKind::SharedMemory);
            }
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"here");
            victim.signal(Signal::KILL);
            let gone = monitor.next();
            let EventKind::Disconnected { cause, .. } = gone.kind else { panic!("{gone:?}") };
            assert!(matches!(cause, DisconnectCause::Peer | DisconnectCause::Network), "{cause:?}");
            assert_eq!(gone.connection, ready.connection);
            last = gone.connection;
        }
    }
}

#[test]
fn a_peer_that_is_stopped_is_told_to_be_silent_and_then_given_up() {
    let quick = Options { heartbeat_ms: 50, heartbeat_timeout_ms: 500, ..Options::default() };
    for transport in ["tcp", "ipc"] {
        let mut script = Script::python("pipeline.py", ["pull", "bind", &endpoint(transport), "1"]);
        let push = Push::with_options(&Context::new(), quick.clone()).unwrap();
        let mut monitor = Witness::of(&push);
        push.connect(&script.hear("bound")).unwrap();
        monitor.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
        script.freeze();
        monitor.catch_up();
        let told_before = monitor.told.len();
        let gone = monitor.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
        let EventKind::Disconnected { cause, .. } = gone.kind else { unreachable!() };
        assert_eq!(cause, DisconnectCause::Silent);
        let is_silent = |kind: &EventKind| matches!(kind, EventKind::Silent { .. });
        let silent = monitor.told.iter().rev().find(|event| is_silent(&event.kind)).unwrap();
        assert_eq!(silent.connection, gone.connection);
        // Once for each silence: a last PONG may have been on its way.
        let times = monitor.told[told_before..].iter().filter(|event| is_silent(&event.kind)).count();
        assert!(times <= 2, "{:#?}", monitor.told);
        script.thaw();
        monitor.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
    }
}
