//! A component and a directory that the test itself plays, so that it can send and omit any answer.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak::{AskError, Component, OpenError, Scope};
use hairstreak_socket::{Context, Message, Push, Router};
use hairstreak_testkit::until;
use hairstreak_wire::directory::{Attributes, Endpoint, Envelope, ErrorCode, Reply, Request};

const PATIENCE: Duration = Duration::from_secs(20);

struct Played {
    router: Router,
    address: String,
}

impl Played {
    fn new() -> Played {
        let router = Router::new(&Context::new()).unwrap();
        let address = router.bind("tcp://127.0.0.1:*").unwrap().to_string();
        Played { router, address }
    }

    fn component(&self) -> Component {
        Component::builder().directory(&self.address).patience(PATIENCE).build().unwrap()
    }

    /// Waits for the next request. Returns it with a handle to answer it.
    fn receive(&self) -> (Request, Answer<'_>) {
        let message = self.router.recv_timeout(PATIENCE).unwrap();
        let frames: Vec<&[u8]> = message.frames().collect();
        let (envelope, request) = Request::decode(&frames[1..]).unwrap();
        (request, Answer { router: &self.router, peer: frames[0].to_vec(), envelope })
    }
}

struct Answer<'p> {
    router: &'p Router,
    peer: Vec<u8>,
    envelope: Envelope,
}

impl Answer<'_> {
    fn send(self, reply: Reply) {
        let frames = reply.encode(&self.envelope);
        let message = Message::from_frames([self.peer].into_iter().chain(frames));
        self.router.send(&message).unwrap();
    }
}

#[test]
fn a_name_that_was_lost_is_known_and_won_back() {
    let played = Played::new();
    let component = played.component();
    let (opened, is_open) = mpsc::channel();
    thread::spawn(move || opened.send(component.queue("Q").scope(Scope::Global).open().unwrap()).unwrap());
    played.receive().1.send(Reply::Ok { lease_ms: 5000 });
    let queue = is_open.recv().unwrap();
    assert!(queue.is_registered());

    let (request, answer) = played.receive();
    let Request::Register(renewal) = request else { panic!("not a renewal: {request:?}") };
    answer.send(Reply::Duplicate { name: renewal.name, endpoint: renewal.endpoint });
    until("the queue has lost its name", || !queue.is_registered());
    played.receive().1.send(Reply::Ok { lease_ms: 5000 });
    until("the queue has its name again", || queue.is_registered());
    drop(queue);
    assert!(matches!(played.receive().0, Request::Unregister { .. }));
}

#[test]
fn a_request_without_a_reply_is_sent_again() {
    let played = Played::new();
    let component = played.component();
    let opener = thread::spawn(move || component.queue("Q").scope(Scope::Global).open());
    let (first, unanswered) = played.receive();
    drop(unanswered);
    let (second, answer) = played.receive();
    assert_eq!(first, second);
    answer.send(Reply::Ok { lease_ms: 5000 });
    opener.join().unwrap().unwrap();
}

#[test]
fn a_refusal_is_passed_on() {
    let played = Played::new();
    let component = played.component();
    let opener = thread::spawn(move || component.queue("Q").scope(Scope::Global).open());
    played.receive().1.send(Reply::error(ErrorCode::Limit, "the directory is full"));
    let error = opener.join().unwrap().unwrap_err();
    assert!(matches!(error, OpenError::Directory { error: AskError::Refused { .. }, .. }));
    let expected = format!("Q: the directory at {} refuses: the directory is full", played.address);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_is_no_reply_is_passed_over() {
    let played = Played::new();
    let component = played.component();
    let opener = thread::spawn(move || component.queue("Q").scope(Scope::Global).open());
    let (_, answer) = played.receive();
    for garbage in [&["x"][..], &["HSD1"], &["HSD1", "", "OK"], &["HSD1", "c12345678", "OK", ""]] {
        let frames = garbage.iter().map(|text| text.as_bytes().to_vec());
        played.router.send(&Message::from_frames([answer.peer.clone()].into_iter().chain(frames))).unwrap();
    }
    answer.send(Reply::Ok { lease_ms: 5000 });
    opener.join().unwrap().unwrap();
}

/// Answers the next look-up with `endpoint`.
fn tell_next(played: &Played, endpoint: &str) {
    let (request, answer) = played.receive();
    let Request::Lookup { name, .. } = request else { panic!("no look-up: {request:?}") };
    let endpoint = Endpoint::new(endpoint).unwrap();
    answer.send(Reply::Found { name, endpoint, attributes: Attributes::new() });
}

#[test]
fn a_connection_that_stands_is_kept_although_its_name_is_elsewhere_and_one_that_is_lost_is_not() {
    let played = Played::new();
    let component = played.component();
    let context = Context::new();
    let [first, second] = [(); 2].map(|()| Push::new(&context).unwrap());
    let [here, there] = [&first, &second].map(|push| push.bind("tcp://127.0.0.1:*").unwrap().to_string());
    let queue = component.queue("Q").open().unwrap();
    thread::scope(|scope| {
        let bound = scope.spawn(|| component.bind("E", "Q"));
        tell_next(&played, &here);
        bound.join().unwrap().unwrap();
    });
    first.send_timeout("before", PATIENCE).unwrap();
    assert_eq!(queue.recv_timeout(PATIENCE).unwrap().body(), b"before");
    // When the third request comes, the component has acted on two answers.
    (0..3).for_each(|_| tell_next(&played, &there));
    assert!(second.peers().is_empty());
    first.send_timeout("after", PATIENCE).unwrap();
    assert_eq!(queue.recv_timeout(PATIENCE).unwrap().body(), b"after");
    drop(first);
    until("the second has a peer", || {
        tell_next(&played, &there);
        !second.peers().is_empty()
    });
    second.send_timeout("elsewhere", PATIENCE).unwrap();
    assert_eq!(queue.recv_timeout(PATIENCE).unwrap().body(), b"elsewhere");
}
