//! A client whose broker is replaced by one of another kind, or is slow.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use hairstreak::service::{Client, ClientOptions, RequestError};
use hairstreak_wire::numbered::{Header, ToBroker, parse_to_broker};

use crate::broker::{Broker, PATIENCE, place};

fn connect(places: &[&str], window: usize) -> Client {
    let options = ClientOptions { window, timeout: Some(PATIENCE), ..ClientOptions::default() };
    Client::with_options(places, options).unwrap()
}

/// What the client of a plain broker sends for that body.
fn plain(body: &str) -> [Vec<u8>; 4] {
    [Vec::new(), b"MDPC01".to_vec(), b"echo".to_vec(), body.into()]
}

fn answer_plainly(broker: &Broker, body: &str) {
    broker.send_frames(&[b"", b"MDPC01", b"echo", body.as_bytes()]);
}

/// The number and the body of the next request, which is answered.
fn answer(broker: &Broker) -> (u64, Vec<u8>) {
    let frames = broker.frames();
    let Ok(ToBroker::Request { request, body_index, .. }) = parse_to_broker(&frames) else {
        panic!("{frames:?}");
    };
    broker.send(Header::Final { request, index: 0 }, &[&frames[body_index]]);
    (request.number, frames[body_index].clone())
}

/// Has a client asked while `serve` runs, and returns what it got.
fn ask(client: &Client, body: &str, serve: impl FnOnce()) -> String {
    let (client, body) = (client.clone(), body.to_owned());
    let asking = thread::spawn(move || client.call("echo", body.as_str()));
    serve();
    String::from_utf8(asking.join().unwrap().unwrap().body().to_vec()).unwrap()
}

#[test]
fn what_a_plain_broker_took_with_it_is_asked_again_whoever_comes_in_its_place() {
    let place = place(20);
    let client = connect(&[&place], 10);
    let said = ask(&client, "one", || {
        let first = Broker::plain_at(&place);
        assert_eq!(first.frames(), plain("one"));
        drop(first);
        let second = Broker::plain_at(&place);
        assert_eq!(second.frames(), plain("one"));
        drop(second);
        // The client may speak plainly still on the first connection, which is that of a plain client then.
        let third = Broker::at(&place);
        third.welcome();
        drop(third);
        let fourth = Broker::at(&place);
        fourth.welcome();
        assert_eq!(answer(&fourth), (1, b"one".to_vec()));
    });
    assert_eq!(said, "one");
}

#[test]
fn a_client_that_meets_a_numbering_broker_on_a_plain_connection_begins_anew() {
    let place = place(21);
    let client = connect(&[&place], 10);
    let plain_broker = Broker::plain_at(&place);
    ask(&client, "one", || {
        assert_eq!(plain_broker.frames(), plain("one"));
        answer_plainly(&plain_broker, "one");
    });
    drop(plain_broker);
    let asking = {
        let client = client.clone();
        thread::spawn(move || client.call("echo", "two"))
    };
    // What the client says plainly before it looks at its connection makes that a plain client's.
    let mut ours = Broker::at(&place);
    ours.welcome();
    let mut plain_peers = Vec::new();
    loop {
        let message = ours.router.recv_timeout(PATIENCE).unwrap();
        let (peer, frames) = message.as_frames().split_first().unwrap();
        if frames.len() == 1 && frames[0].size() == 0 {
            ours = ours.with_peer(peer.as_bytes());
            ours.welcome();
        } else if let Ok(ToBroker::Request { request, body_index, .. }) = parse_to_broker(frames) {
            assert!(!plain_peers.contains(peer), "it speaks both on one connection");
            ours.send(Header::Final { request, index: 0 }, &[frames[body_index].as_bytes()]);
            break;
        } else {
            plain_peers.push(peer.clone());
        }
    }
    assert_eq!(asking.join().unwrap().unwrap().body(), b"two");
}

#[test]
fn what_a_numbering_broker_had_is_asked_of_a_plain_one_that_is_next() {
    let places = [place(22), place(23)];
    let client = connect(&[&places[0], &places[1]], 10);
    let said = ask(&client, "one", || {
        let ours = Broker::at(&places[0]);
        ours.welcome();
        ours.frames();
        drop(ours);
        let other = Broker::plain_at(&places[1]);
        assert_eq!(other.frames(), plain("one"));
        answer_plainly(&other, "one");
    });
    assert_eq!(said, "one");
}

#[test]
fn who_waits_for_room_waits_no_longer_than_for_a_reply() {
    const TIMEOUT: Duration = Duration::from_millis(300);
    const COUNT: u32 = 40;
    let options = ClientOptions { window: 1, timeout: Some(TIMEOUT), ..ClientOptions::default() };
    let client = Client::with_options(&[&place(24)], options).unwrap();
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..COUNT {
            scope.spawn(|| assert_eq!(client.call("echo", "one"), Err(RequestError::TimedOut(TIMEOUT))));
        }
    });
    // One behind the other they would take so long.
    assert!(begin.elapsed() < TIMEOUT * COUNT / 2);
}

/// Wakes a thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn tasks_share_what_they_wait_with_and_one_that_goes_leaves_the_lead_to_another() {
    const COUNT: usize = 2_000;
    const WINDOW: usize = 1_500;
    let place = place(25);
    let client = connect(&[&place], WINDOW);
    let serving = {
        let place = place.clone();
        thread::spawn(move || {
            let broker = Broker::at(&place);
            broker.welcome();
            // Those that have room, but for the first, which is withdrawn, and then the others.
            while answer(&broker).0 < COUNT as u64 {}
            broker
        })
    };
    let bodies: Vec<String> = (0..COUNT).map(|number| number.to_string()).collect();
    let mut calls: Vec<_> =
        bodies.iter().map(|body| Box::pin(client.call_async("echo", body.as_str()))).collect();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let before = open_descriptors();
    let mut done = vec![false; COUNT];
    // The first leads, and goes.
    assert!(calls[0].as_mut().poll(&mut context).is_pending());
    calls.iter_mut().for_each(|call| drop(call.as_mut().poll(&mut context)));
    assert!(open_descriptors() < before + 100, "each has descriptors of its own");
    drop(calls.remove(0));
    done[0] = true;
    let mut left: Vec<(usize, _)> =
        calls.into_iter().enumerate().map(|(index, call)| (index + 1, call)).collect();
    let end = Instant::now() + PATIENCE;
    while !left.is_empty() {
        left.retain_mut(|(number, call)| match pin!(call).poll(&mut context) {
            Poll::Pending => true,
            Poll::Ready(reply) => {
                assert_eq!(reply.unwrap().body(), number.to_string().as_bytes());
                assert!(!std::mem::replace(&mut done[*number], true));
                false
            }
        });
        assert!(Instant::now() < end, "{} wait still", left.len());
        thread::park_timeout(Duration::from_millis(500));
    }
    assert!(done.into_iter().all(|done| done));
    drop(serving);
}
