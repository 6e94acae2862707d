//! The order in which a machine gets messages and departures of peers, over real sockets.
//!
//! The driver's thread is held inside its machine, so that later events lie unread in the socket.

mod heartbeats;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hairstreak_services::OpenGate;
use hairstreak_services::names::{Change, Options};
use hairstreak_socket::{Context, Dealer, Message, Options as SocketOptions, PeerInfo, Router};
use hairstreak_testkit::until;

use super::directory::{DirectoryMachine, socket_options as directory_socket_options};
use super::driver::{Driver, Machine};
use super::outbox::SocketOutbox;

const PATIENCE: Duration = Duration::from_secs(20);

/// A driver, its endpoint, and the means to hold its thread.
struct Served {
    router: Router,
    at: String,
    thread: Option<JoinHandle<()>>,
    held: Receiver<()>,
    release: Sender<()>,
}

/// Hold of a machine: it reports that it is held, and waits until it is released.
struct Hold {
    held: Sender<()>,
    released: Receiver<()>,
}

impl Hold {
    fn wait(&self) {
        self.held.send(()).unwrap();
        self.released.recv().unwrap();
    }
}

impl Served {
    fn new<M: Machine + Send + 'static>(machine: impl FnOnce(Hold) -> M) -> Served {
        let router = Router::with_options(&Context::new(), directory_socket_options()).unwrap();
        let at = router.bind("tcp://127.0.0.1:*").unwrap().to_string();
        let ((holding, held), (release, released)) = (channel(), channel());
        let driver =
            Driver::new(machine(Hold { held: holding, released }), SocketOutbox::new(router.clone()));
        let thread = Some(thread::spawn(move || driver.run()));
        Served { router, at, thread, held, release }
    }

    fn client(&self, name: &str) -> Dealer {
        let options =
            SocketOptions { routing_id: Some(name.into()), reconnect_max_ms: 10, ..SocketOptions::default() };
        let dealer = Dealer::with_options(&Context::new(), options).unwrap();
        dealer.connect(&self.at).unwrap();
        dealer
    }

    /// Waits until the machine is held.
    fn wait_until_held(&self) {
        self.held.recv_timeout(PATIENCE).unwrap();
    }

    fn wait_until_gone(&self, name: &str) {
        until("the socket knows that the peer is gone", || self.router.peer(name.as_bytes()).is_none());
    }

    /// Has a client of this socket send, and waits until some of it has come.
    fn wait_until_comes(&self, send: impl FnOnce()) {
        let before = self.router.stats().received_bytes;
        send();
        until("it has come", || self.router.stats().received_bytes > before);
    }

    fn release(&self) {
        self.release.send(()).unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.router.clone().close();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

/// Reports every call. A message `hold` holds it.
struct Recorder {
    hold: Hold,
    told: Sender<String>,
}

impl Machine for Recorder {
    fn handle_message(&mut self, _now: Duration, message: Message, _out: &mut SocketOutbox) {
        let frames: Vec<_> = message.frames().map(String::from_utf8_lossy).collect();
        self.told.send(frames.join(" ")).unwrap();
        if message.body() == b"hold" {
            self.hold.wait();
        }
    }

    fn handle_peer(&mut self, _now: Duration, routing_id: &[u8], _peer: &PeerInfo, _out: &mut SocketOutbox) {
        self.told.send(format!("{} is here", String::from_utf8_lossy(routing_id))).unwrap();
    }

    fn handle_gone(&mut self, _now: Duration, routing_id: &[u8], _out: &mut SocketOutbox) {
        self.told.send(format!("{} is gone", String::from_utf8_lossy(routing_id))).unwrap();
    }

    fn handle_timeout(&mut self, _now: Duration, _out: &mut SocketOutbox) {}

    fn next_timeout(&self, _now: Duration) -> Option<Duration> {
        None
    }
}

#[test]
fn a_peer_is_gone_behind_its_own_messages_and_before_what_others_say_later() {
    let (told, tells) = channel();
    let served = Served::new(|hold| Recorder { hold, told });
    let (leaver, other) = (served.client("leaver"), served.client("other"));
    other.send("hold").unwrap();
    served.wait_until_held();
    ["1", "2", "3"].iter().for_each(|message| leaver.send(*message).unwrap());
    leaver.close();
    served.wait_until_gone("leaver");
    served.release();
    let next = || tells.recv_timeout(PATIENCE).unwrap();
    let first = [next(), next(), next(), next(), next()];
    assert_eq!(first, ["other hold", "leaver 1", "leaver 2", "leaver 3", "leaver is gone"]);
    // The peer whose connection ends without a message left is gone before anything that was not received yet.
    let silent = served.client("silent");
    silent.send("here").unwrap();
    assert_eq!(next(), "silent here");
    other.send("hold").unwrap();
    served.wait_until_held();
    silent.close();
    served.wait_until_gone("silent");
    served.wait_until_comes(|| other.send("later").unwrap());
    served.release();
    assert_eq!([next(), next(), next()], ["other hold", "silent is gone", "other later"]);
}

/// A directory that is held when the name `hold` comes.
fn directory(options: Options) -> Served {
    Served::new(|hold| {
        let on_change = move |change: &Change| {
            if matches!(change, Change::Registered { name, .. } if name.as_str() == "hold") {
                hold.wait();
            }
        };
        DirectoryMachine::new(options, Box::new(OpenGate), Box::new(on_change))
    })
}

/// Sends a REGISTER for an hour; the request's id is the name.
fn send_register(client: &Dealer, name: &str, owner: u8) {
    let (name, lease_ms) = (name.as_bytes(), 3_600_000_u32.to_be_bytes());
    let frames: [&[u8]; 7] = [b"HSD1", name, b"REGISTER", name, &[owner; 16], &lease_ms, b"tcp://10.0.0.1:7"];
    client.send_timeout(frames.as_slice(), PATIENCE).unwrap();
}

/// The id and the verb of the next reply.
fn reply(client: &Dealer) -> (String, String) {
    let reply = client.recv_timeout(PATIENCE).unwrap();
    let frame = |index| String::from_utf8(reply.frame(index).unwrap().to_vec()).unwrap();
    (frame(1), frame(2))
}

fn register(client: &Dealer, name: &str, owner: u8) -> String {
    send_register(client, name, owner);
    let (id, verb) = reply(client);
    assert_eq!(id, name);
    verb
}

#[test]
fn nobody_is_refused_for_a_peer_whose_end_the_socket_knew_before_the_request_came() {
    let options = Options { entries_max: 3, ..Options::default() };
    let served = directory(options);
    let (holder, other) = (served.client("holder"), served.client("other"));
    assert_eq!(register(&holder, "a", 1), "OK");
    assert_eq!(register(&holder, "b", 1), "OK");
    assert_eq!(register(&other, "a", 2), "DUPLICATE");
    send_register(&other, "hold", 2);
    served.wait_until_held();
    holder.close();
    served.wait_until_gone("holder");
    // A name that the holder had, and one for which an orphan of its makes room.
    served.wait_until_comes(|| {
        send_register(&other, "a", 2);
        send_register(&other, "c", 2);
    });
    served.release();
    let replies = [reply(&other), reply(&other), reply(&other)];
    assert_eq!(
        replies,
        [("hold", "OK"), ("a", "OK"), ("c", "OK")].map(|(id, verb)| (id.into(), verb.into()))
    );
}

#[test]
fn a_peer_that_comes_again_by_its_name_is_another_one() {
    let served = directory(Options::default());
    let (first, other) = (served.client("same"), served.client("other"));
    assert_eq!(register(&first, "a", 1), "OK");
    send_register(&other, "hold", 2);
    served.wait_until_held();
    first.close();
    served.wait_until_gone("same");
    let second = served.client("same");
    until("it is here", || served.router.peer(b"same").is_some());
    served.wait_until_comes(|| send_register(&second, "b", 3));
    served.release();
    assert_eq!(reply(&other), ("hold".into(), "OK".into()));
    // The second client gets only its own reply, and the entry of the first one is an orphan.
    assert_eq!(reply(&second), ("b".into(), "OK".into()));
    assert_eq!(register(&other, "a", 2), "OK");
    assert_eq!(register(&other, "b", 2), "DUPLICATE");
    second.close();
    served.wait_until_gone("same");
    assert_eq!(register(&other, "b", 2), "OK");
}
