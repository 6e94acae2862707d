//! Many logins at a time: the queue is bounded, networks take turns, and remembered logins never wait.

use std::sync::mpsc::{self, Receiver, Sender};

use super::*;

/// The most different logins that wait.
const ROOM: usize = 256;

/// An `Access` whose hashing thread is stopped until released.
struct Held {
    /// Dropped first, lest a test that fails waits for the thread.
    release: Sender<()>,
    access: Access,
    sender: Sender<(String, LoginResult)>,
    answers: Receiver<(String, LoginResult)>,
}

impl Held {
    fn new() -> Held {
        let access = access();
        access.add("alice", "secret");
        access.add("bob", "secret");
        assert!(access.is_let_in("alice", "secret"));
        let (release, released) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        let login = access.log_in(b"nobody", b"first", far(), move |_| {
            begin.send(()).unwrap();
            released.recv().unwrap();
        });
        assert!(matches!(login, Login::Later));
        begun.recv_timeout(PATIENCE).unwrap();
        let (sender, answers) = mpsc::channel();
        Held { release, access, sender, answers }
    }

    fn log_in(&self, label: &str, name: &str, password: &str, address: [u8; 4]) -> Login {
        let (sender, label) = (self.sender.clone(), label.to_owned());
        let answer = move |result| sender.send((label, result)).unwrap();
        self.access.log_in(name.as_bytes(), password.as_bytes(), Peer::at(address.into()), answer)
    }

    /// Fills the queue from one network.
    fn flood(&self) {
        for number in 0..ROOM {
            let login = self.log_in(&format!("wrong{number}"), "nobody", &format!("wrong{number}"), FAR);
            assert!(matches!(login, Login::Later), "{number}");
        }
    }

    /// Lets the thread go on, and returns the answers in their order.
    fn release(self) -> (Vec<(String, LoginResult)>, LoginFigures) {
        self.release.send(()).unwrap();
        // No sender is left after all logins are answered.
        drop(self.sender);
        let mut answers = Vec::new();
        while let Ok(answer) = self.answers.recv_timeout(PATIENCE) {
            answers.push(answer);
        }
        (answers, self.access.login_figures())
    }
}

#[test]
fn a_full_queue_refuses_its_own_network() {
    let held = Held::new();
    held.flood();
    for _ in 0..3 {
        let login = held.log_in("late", "bob", "secret", FAR);
        assert!(matches!(login, Login::Now(Err(LoginError::TryLater))));
    }
    let (answers, figures) = held.release();
    assert_eq!(answers.len(), ROOM);
    assert_eq!((figures.postponed, figures.failed), (3, ROOM as u64 + 1));
}

#[test]
fn what_is_remembered_does_not_wait() {
    let held = Held::new();
    held.flood();
    for _ in 0..1000 {
        assert!(matches!(held.log_in("alice", "alice", "secret", FAR), Login::Now(Ok(_))));
    }
    held.release();
}

#[test]
fn another_network_has_its_turn() {
    let held = Held::new();
    held.flood();
    // Takes the place of the flood's newest, and is asked for second.
    assert!(matches!(held.log_in("bob", "bob", "secret", [198, 51, 100, 1]), Login::Later));
    let (answers, figures) = held.release();
    assert_eq!(answers.len(), ROOM + 1);
    assert_eq!((&*answers[0].0, answers[0].1.as_ref().unwrap_err()), ("wrong255", &LoginError::TryLater));
    assert_eq!(&*answers[1].0, "wrong0");
    assert_eq!((&*answers[2].0, answers[2].1.is_ok()), ("bob", true));
    assert_eq!(&*answers[3].0, "wrong1");
    assert_eq!(figures.postponed, 1);
}

#[test]
fn networks_share_the_queue() {
    let held = Held::new();
    held.flood();
    let other = |number| [198, 51, 100, number];
    // A second network gets as much room as the first keeps, and ninety-nine others get one place each.
    for number in 0..ROOM {
        let login = held.log_in("second", "nobody", &format!("second{number}"), other(1));
        assert_eq!(matches!(login, Login::Later), number < ROOM / 2, "{number}");
    }
    for number in 2..=100 {
        assert!(matches!(
            held.log_in("many", "nobody", &format!("many{number}"), other(number)),
            Login::Later
        ));
    }
    let (answers, _) = held.release();
    let refused = answers.iter().filter(|(_, answer)| *answer.as_ref().unwrap_err() == LoginError::TryLater);
    assert_eq!((refused.count(), answers.len()), (ROOM / 2 + 99, ROOM + ROOM / 2 + 99));
}

#[test]
fn the_same_credentials_wait_together() {
    let held = Held::new();
    for number in 0..10_000 {
        let name = if number % 2 == 0 { "bob" } else { "carol" };
        assert!(matches!(held.log_in(name, name, "secret", FAR), Login::Later));
    }
    let before = held.access.login_figures().hashes;
    let (answers, figures) = held.release();
    assert_eq!(answers.len(), 10_000);
    for (name, answer) in answers {
        assert_eq!(answer.is_ok(), name == "bob");
    }
    assert_eq!(figures.hashes - before, 2);
}

#[test]
fn a_name_and_a_password_do_not_run_together() {
    let held = Held::new();
    for (name, password) in [("bob", "secret"), ("bo", "bsecret"), ("bobs", "ecret")] {
        assert!(matches!(held.log_in(name, name, password, FAR), Login::Later));
    }
    let (answers, _) = held.release();
    let let_in: Vec<bool> = answers.iter().map(|(_, answer)| answer.is_ok()).collect();
    assert_eq!(let_in, [true, false, false]);
}

#[test]
fn addresses_of_one_host_of_ipv6_are_one_network() {
    let network = |address: &str| format!("{:?}", Peer::at(address.parse().unwrap()).network());
    assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
    assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    assert_eq!(network("::1"), network("127.0.0.2"));
    assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    assert_ne!(network("::1"), network("192.0.2.2"));
}
