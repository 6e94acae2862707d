//! A client whose broker is replaced by one of another kind, or is slow.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use hairstreak_services::{Client, ClientOptions, RequestError};
use hairstreak_socket::Message;
use hairstreak_testkit::until_at_least;
use hairstreak_wire::hsn1::{Header, ToBroker, parse_to_broker};

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
    let Ok(ToBroker::Request { request, body, .. }) = parse_to_broker(&frames) else {
        panic!("{frames:?}");
    };
    let body = body.body(&frames).next().unwrap();
    broker.send(Header::Final { request, index: 0, run: None }, &[body]);
    (request.number, body.to_vec())
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
fn what_goes_to_a_plain_broker_that_came_while_nobody_asked_goes_once_so_that_no_reply_is_anothers() {
    let place = place(27);
    let client = connect(&[&place], 10);
    let broker = Broker::plain_at(&place);
    let said = ask(&client, "one", || {
        assert_eq!(broker.frames(), plain("one"));
        answer_plainly(&broker, "one");
    });
    assert_eq!(said, "one");
    drop(broker);
    let broker = Broker::plain_at(&place);
    for body in ["two", "three"] {
        let said = ask(&client, body, || {
            assert_eq!(broker.frames(), plain(body));
            // Long enough for the client to look after its connection.
            let again = broker.router.recv_timeout(Duration::from_millis(400));
            assert!(again.is_err(), "{again:?} while {body} is under way");
            answer_plainly(&broker, body);
        });
        assert_eq!(said, body);
    }
}

#[test]
fn a_plain_broker_has_as_many_requests_under_way_as_there_are_connections_and_each_reply_is_its_own() {
    const CONNECTIONS: usize = 6;
    const COUNT: usize = 200;
    let place = place(28);
    let options = ClientOptions {
        plain_connections: CONNECTIONS,
        window: 50,
        timeout: Some(PATIENCE),
        ..ClientOptions::default()
    };
    let client = Client::with_options(&[&place], options).unwrap();
    let is_cancelled = AtomicBool::new(false);
    let ask = || {
        let mut sent: HashMap<u64, String> = HashMap::new();
        let mut replies = Vec::new();
        for number in 0..COUNT {
            let body = format!("body {number}");
            sent.insert(client.send("echo", body.as_str()).unwrap(), body);
            replies.extend(std::iter::from_fn(|| client.try_recv()));
        }
        client.cancel(1);
        sent.remove(&1);
        is_cancelled.store(true, Ordering::SeqCst);
        replies.extend(std::iter::from_fn(|| client.recv()));
        for reply in replies {
            let body = sent.remove(&reply.number).unwrap();
            assert_eq!(reply.result.unwrap().body(), body.as_bytes());
        }
        assert_eq!(sent.len(), 0);
    };
    thread::scope(|scope| {
        let asking = scope.spawn(ask);
        let mut broker = Broker::plain_at(&place);
        let mut under_way: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let (mut first, mut most, mut answered) = (None, 0, 0);
        while !asking.is_finished() {
            while let Some((peer, mut frames)) = broker.frames_of_anybody(Duration::from_millis(20)) {
                let body = frames.pop().unwrap();
                assert_eq!(frames, plain("")[..3]);
                assert!(under_way.iter().all(|(other, _)| *other != peer), "two requests on one connection");
                under_way.push((peer, body));
                most = most.max(under_way.len());
                if under_way[0].1 == b"body 0" {
                    first = Some(under_way.remove(0));
                }
            }
            // What was cancelled is answered then, and the last of those that came before the others.
            let is_time = is_cancelled.load(Ordering::SeqCst);
            let next = match first.take_if(|_| is_time) {
                None if is_time || answered < COUNT - 20 => under_way.pop(),
                cancelled => cancelled,
            };
            if let Some((peer, body)) = next {
                answered += 1;
                broker = broker.with_peer(&peer);
                broker.send_frames(&[b"", b"MDPC01", b"echo", &body]);
            }
        }
        assert_eq!((most, answered), (CONNECTIONS, COUNT));
    });
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
        } else if let Ok(ToBroker::Request { request, body, .. }) = parse_to_broker(frames) {
            assert!(!plain_peers.contains(peer), "it speaks both on one connection");
            ours.send(Header::Final { request, index: 0, run: None }, &body.body(frames).collect::<Vec<_>>());
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

/// Takes a request, and says parts of its reply: of each the run, whether it is the last, and what it says.
fn say(broker: &Broker, parts: &[(u64, bool, &str)]) {
    let frames = broker.frames();
    let Ok(ToBroker::Request { request, takes_runs: true, .. }) = parse_to_broker(&frames) else {
        panic!("{frames:?}");
    };
    let mut place = (0, 0);
    for &(run, is_final, text) in parts {
        place = if place.0 == run { (run, place.1 + 1) } else { (run, 0) };
        let (index, run) = (place.1, Some(run));
        let header = match is_final {
            true => Header::Final { request, index, run },
            false => Header::Partial { request, index, run },
        };
        broker.send(header, &[text.as_bytes()]);
    }
}

#[test]
fn a_reply_is_of_one_worker_or_there_is_an_error() {
    let place = place(31);
    let client = connect(&[&place], 10);
    let frames = |message: Message| message.frames().map(<[u8]>::to_vec).collect::<Vec<_>>();
    let broker = thread::spawn({
        let place = place.clone();
        move || {
            let broker = Broker::at(&place);
            broker.welcome();
            broker
        }
    });
    assert_eq!(client.uses_hsn1(PATIENCE), Some(true));
    let broker = broker.join().unwrap();
    // The second worker says it in one part, in other parts, and in parts whose borders lie elsewhere.
    let first = (7, false, "first half, ");
    let others: [&[(u64, bool, &str)]; 3] = [
        &[(8, true, "first half, second half")],
        &[(8, false, "first "), (8, true, "half, second half")],
        &[(8, false, "first half, second "), (8, true, "half")],
    ];
    for other in others {
        let expected: Vec<_> = other.iter().map(|(.., text)| text.as_bytes().to_vec()).collect();
        let parts = [&[first], other].concat();
        let (asking, parts) = (client.clone(), &parts);
        thread::scope(|scope| {
            let call = scope.spawn(|| asking.call("echo", "x").unwrap());
            say(&broker, parts);
            assert_eq!(frames(call.join().unwrap()), expected);
            let stream = scope.spawn(|| asking.stream("echo", "x").unwrap().collect::<Vec<_>>());
            say(&broker, parts);
            let seen = stream.join().unwrap();
            assert_eq!(seen, [Ok("first half, ".into()), Err(RequestError::RepliesDiffer)]);
            // It is withdrawn.
            assert!(matches!(parse_to_broker(&broker.frames()), Ok(ToBroker::Cancel(_))));
        });
    }
    // The second worker says the same again.
    let parts = [first, (8, false, "first half, "), (8, true, "second half")];
    thread::scope(|scope| {
        let stream = scope.spawn(|| client.stream("echo", "x").unwrap().collect::<Result<Vec<_>, _>>());
        say(&broker, &parts);
        assert_eq!(stream.join().unwrap().unwrap(), ["first half, ", "second half"].map(Message::from));
    });
}

#[test]
fn parts_of_a_plain_broker_that_died_are_not_joined_to_those_of_the_next() {
    let place = place(32);
    let options = ClientOptions {
        timeout: Some(PATIENCE),
        plain_version: hairstreak_wire::mdp::Version::V02,
        ..ClientOptions::default()
    };
    let client = Client::with_options(&[&place], options).unwrap();
    let asking = thread::spawn(move || client.call("echo", "x"));
    let first = Broker::plain_at(&place);
    assert_eq!(first.frames()[3..], [b"x"]);
    first.send_frames(&[b"MDPC02", b"\x02", b"echo", b"first half, "]);
    first.until_read();
    drop(first);
    let second = Broker::plain_at(&place);
    let (peer, _) = second.frames_of_anybody(PATIENCE).unwrap();
    let second = second.with_peer(&peer);
    second.send_frames(&[b"MDPC02", b"\x02", b"echo", b"first "]);
    second.send_frames(&[b"MDPC02", b"\x03", b"echo", b"half, second half"]);
    let expected = Message::from_frames(["first ", "half, second half"]);
    assert_eq!(asking.join().unwrap().unwrap(), expected);
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

/// Notes that one task is to be polled, and wakes the thread that does.
struct Call {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

type Asking<'a> = (Arc<Call>, Pin<Box<dyn Future<Output = Result<Message, RequestError>> + 'a>>);

/// A call of each of these bodies, which has not been polled yet.
fn calls<'a>(client: &'a Client, bodies: &'a [String]) -> Vec<Option<Asking<'a>>> {
    let asking = |body: &'a String| -> Asking<'a> {
        let call = Call { thread: thread::current(), is_woken: true.into() };
        (Arc::new(call), Box::pin(client.call_async("echo", body.as_str())))
    };
    bodies.iter().map(|body| Some(asking(body))).collect()
}

/// Polls those that were woken, and nobody else. Returns how many have ended; each has as its reply its place.
fn poll_woken(calls: &mut [Option<Asking<'_>>]) -> usize {
    let mut done = 0;
    for (number, slot) in calls.iter_mut().enumerate() {
        let Some((call, future)) = slot else { continue };
        if !call.is_woken.swap(false, Ordering::SeqCst) {
            continue;
        }
        let waker = Waker::from(Arc::clone(call));
        if let Poll::Ready(reply) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            assert_eq!(reply.unwrap().body(), number.to_string().as_bytes());
            *slot = None;
            done += 1;
        }
    }
    done
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn tasks_share_what_they_wait_with_and_one_that_goes_leaves_the_lead_to_another() {
    const COUNT: usize = 2_000;
    const WINDOW: usize = 1_500;
    /// So many go before they are answered, those that lead among them.
    const GONE: usize = 100;
    let place = place(25);
    let client = connect(&[&place], WINDOW);
    let bodies: Vec<String> = (0..COUNT).map(|number| number.to_string()).collect();
    let mut calls = calls(&client, &bodies);
    let before = open_descriptors();
    let mut done = 0;
    let mut poll_woken = |calls: &mut [Option<Asking<'_>>]| {
        done += poll_woken(calls);
        done
    };
    poll_woken(&mut calls);
    assert!(open_descriptors() < before + 100, "each has descriptors of its own");
    for gone in 0..GONE {
        calls[gone] = None;
        poll_woken(&mut calls);
    }
    let serving = thread::spawn(move || {
        let broker = Broker::at(&place);
        broker.welcome();
        while answer(&broker).0 < COUNT as u64 {}
        broker
    });
    until_at_least("replies", COUNT - GONE, || poll_woken(&mut calls));
    drop(serving);
}

#[test]
fn tasks_and_threads_share_the_connections_to_a_plain_broker() {
    const COUNT: usize = 300;
    let place = place(29);
    let client = connect(&[&place], 100);
    let bodies: Vec<String> = (0..COUNT).map(|number| number.to_string()).collect();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut broker = Broker::plain_at(&place);
            while !is_done.load(Ordering::SeqCst) {
                if let Some((peer, frames)) = broker.frames_of_anybody(Duration::from_millis(20)) {
                    broker = broker.with_peer(&peer);
                    broker.send_frames(&[b"", b"MDPC01", b"echo", &frames[3]]);
                }
            }
        });
        let thread = scope.spawn(|| {
            for body in &bodies {
                assert_eq!(client.call("echo", body.as_str()).unwrap().body(), body.as_bytes());
            }
        });
        let mut calls = calls(&client, &bodies);
        let mut done = 0;
        until_at_least("replies", COUNT, || {
            done += poll_woken(&mut calls);
            done
        });
        thread.join().unwrap();
        is_done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn calls_that_end_before_they_wait_leave_no_descriptors_behind() {
    const COUNT: usize = 1_000;
    let options = ClientOptions { timeout: Some(Duration::ZERO), ..ClientOptions::default() };
    let client = Client::with_options(&[&place(30)], options).unwrap();
    let before = open_descriptors();
    for _ in 0..COUNT {
        let mut call = Box::pin(client.call_async("echo", "body"));
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(Err(RequestError::TimedOut(Duration::ZERO))));
    }
    // Other tests have some, too.
    let after = open_descriptors();
    assert!(after < before + COUNT / 2, "{before} before, {after} after");
}

#[test]
fn a_task_that_follows_is_woken_when_the_one_that_leads_goes() {
    let client = connect(&[&place(26)], 10);
    // Which of the wakers is found first is chance.
    for _ in 0..64 {
        let [leader, follower] =
            [(); 2].map(|()| Arc::new(Call { thread: thread::current(), is_woken: false.into() }));
        let [mut first, mut second] = [(); 2].map(|()| Box::pin(client.call_async("echo", "body")));
        assert!(first.as_mut().poll(&mut Context::from_waker(&Waker::from(leader))).is_pending());
        assert!(
            second.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&follower)))).is_pending()
        );
        drop(first);
        assert!(follower.is_woken.load(Ordering::SeqCst));
    }
}
