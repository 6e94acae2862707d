//! A worker whose broker restarts at the worst instants, is away, or is replaced by another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use hairstreak_services::{
    MemoryStore, ReplyStore, Request, StoredReply, Worker, WorkerControl, WorkerOptions,
};
use hairstreak_socket::Message;
use hairstreak_testkit::until;
use hairstreak_wire::hsn1::{ClientId, Header, Held, RequestId, ToBroker, parse_to_broker};

use crate::broker::{Broker, CLIENT, PATIENCE, place};

fn connect(place: &str, concurrency: usize) -> Worker {
    let options = WorkerOptions { concurrency, capacity: Some(64), ..WorkerOptions::default() };
    Worker::with_options(&[place], "echo", options, MemoryStore::new()).unwrap()
}

/// A worker of one thread whose first request ends when it is told to, and which says what it begins.
fn worker(place: &str) -> (mpsc::Receiver<u64>, mpsc::Sender<()>) {
    let worker = connect(place, 1);
    let (begin, begun) = mpsc::channel();
    let (end, ends) = mpsc::channel();
    let ends = Mutex::new(ends);
    thread::spawn(move || {
        worker.run(|request| {
            let number: u64 = String::from_utf8_lossy(request.body()).parse()?;
            let _ = begin.send(number);
            if number == 1 {
                let _ = ends.lock().unwrap().recv_timeout(PATIENCE);
            }
            Ok(request.body().into())
        })
    });
    (begun, end)
}

#[test]
fn ready_lists_everything_that_the_connection_before_had_brought() {
    let place = place(1);
    let (begun, end) = worker(&place);
    let first = Broker::at(&place);
    first.welcome();
    assert_eq!(first.until_ready().1, [0; 0]);
    first.ask(1);
    assert_eq!(begun.recv_timeout(PATIENCE), Ok(1));
    (2..=40).for_each(|number| first.ask(number));
    // The requests arrive at a worker that does not look. So does the welcome.
    first.until_read();
    drop(first);
    let second = Broker::at(&place);
    second.welcome();
    second.until_read();
    end.send(()).unwrap();
    let (before, mut held) = second.until_ready();
    held.sort_unstable();
    assert_eq!(held, (1..=40).collect::<Vec<u64>>());
    assert!(before.len() <= 1, "{before:?}");
    (1 + before.len() as u64..=40).for_each(|number| second.replies_with(number));
    assert_eq!(begun.try_iter().collect::<Vec<u64>>(), (2..=40).collect::<Vec<u64>>());
    // What it has is not done again.
    second.ask(7);
    second.replies_with(7);
    assert_eq!(begun.try_iter().count(), 0);
}

#[test]
fn replies_that_outrun_the_broker_wait_for_it() {
    const COUNT: u64 = 40;
    for concurrency in [1, 3] {
        let place = place(1 + concurrency as u8);
        let worker = connect(&place, concurrency);
        let control = worker.control();
        let serving = thread::spawn(move || worker.run(|_| Ok(vec![0; 1 << 20].into())));
        let broker = Broker::at(&place);
        broker.welcome();
        broker.until_ready();
        (1..=COUNT).for_each(|number| broker.ask(number));
        // tidy: allow(sleeps) a broker that does not read for a while
        thread::sleep(Duration::from_millis(300));
        let mut numbers: Vec<u64> = (1..=COUNT).map(|_| broker.reply().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=COUNT).collect::<Vec<u64>>(), "{concurrency} threads");
        control.leave();
        assert_eq!(broker.router.recv_timeout(PATIENCE).unwrap().as_frames()[1].as_bytes(), b"HSN1\x09");
        broker.send(Header::Drain, &[]);
        assert_eq!(serving.join().unwrap().unwrap().handled, COUNT);
    }
}

#[test]
fn a_reply_that_no_message_can_hold_is_a_refusal() {
    let place = place(5);
    let worker = connect(&place, 1);
    thread::spawn(move || worker.run(|_| Ok(Message::from_frames([b""; 5_000]))));
    let broker = Broker::at(&place);
    broker.welcome();
    broker.until_ready();
    for _ in 0..2 {
        broker.ask(1);
        let error = broker.reply().unwrap_err();
        assert!(error.contains("frame_count_max"), "{error}");
    }
}

#[test]
fn all_parts_of_a_reply_name_one_run_and_saying_it_once_more_another() {
    let place = place(11);
    let worker = connect(&place, 1);
    thread::spawn(move || {
        worker.run(|request| {
            request.send_part("one");
            Ok("two".into())
        })
    });
    let broker = Broker::at(&place);
    broker.welcome();
    broker.until_ready();
    let mut runs = Vec::new();
    for number in [1, 2, 1] {
        broker.ask(number);
        for _ in 0..2 {
            let frames = broker.frames();
            let Ok(ToBroker::Reply(part)) = parse_to_broker(&frames) else { panic!("{frames:?}") };
            runs.push(part.run.unwrap());
        }
    }
    let [first, _, second, _, again, _] = runs[..] else { panic!("{runs:?}") };
    assert_eq!(runs, [first, first, second, second, again, again]);
    assert!(first != second && first != again && second != again);
    // A broker that takes no runs is told none.
    let request = RequestId { client: CLIENT, number: 3 };
    let (lifetime_ms, deliveries) = (0, 0);
    let header =
        Header::Request { request, first: 1, lifetime_ms, deliveries, is_repeated: false, takes_runs: false };
    broker.send(header, &[b"x"]);
    assert_eq!([broker.frames(), broker.frames()].map(|frames| frames[0][4]), [3, 4]);
}

/// A worker of one thread whose handler waits until it is told how to go on, and how it is asked to leave.
fn held_worker(
    place: &str,
    is_cancelled: &Arc<AtomicBool>,
) -> (mpsc::Receiver<()>, mpsc::Sender<()>, WorkerControl) {
    let worker = connect(place, 1);
    let control = worker.control();
    let (begin, begun) = mpsc::channel();
    let (end, ends) = mpsc::channel();
    let (ends, is_cancelled) = (Mutex::new(ends), Arc::clone(is_cancelled));
    let handle = move |request: &Request<'_>| {
        let _ = begin.send(());
        while ends.lock().unwrap().recv_timeout(Duration::from_millis(10))
            == Err(mpsc::RecvTimeoutError::Timeout)
        {
            is_cancelled.fetch_or(request.is_cancelled(), Ordering::SeqCst);
        }
        Ok(request.body().into())
    };
    thread::spawn(move || worker.run(handle));
    (begun, end, control)
}

#[test]
fn a_busy_worker_of_one_thread_tells_a_new_broker_what_runs_and_hears_what_is_cancelled() {
    let place = place(6);
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let (begun, end, _) = held_worker(&place, &is_cancelled);
    let first = Broker::at(&place);
    first.welcome();
    first.until_ready();
    first.ask(1);
    begun.recv_timeout(PATIENCE).unwrap();
    drop(first);
    let second = Broker::at(&place);
    second.welcome();
    assert_eq!(second.until_ready().1, [1]);
    second.send(Header::Cancel { request: RequestId { client: CLIENT, number: 1 } }, &[]);
    until("the request is cancelled", || is_cancelled.load(Ordering::SeqCst));
    end.send(()).unwrap();
    second.replies_with(1);
}

#[test]
fn a_request_whose_connection_is_over_or_that_is_taken_back_before_it_begins_is_marked() {
    let place = place(13);
    let worker = connect(&place, 1);
    let (begin, begun) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let ends = Mutex::new(ends);
    thread::spawn(move || {
        worker.run(|request| {
            // Of what was taken back the worker hears by and by.
            if request.body() == b"4" {
                until("the fourth request is cancelled", || request.is_cancelled());
            }
            let _ = begin.send((request.body().to_vec(), request.is_repeated()));
            let _ = ends.lock().unwrap().recv_timeout(PATIENCE);
            Ok(request.body().into())
        })
    });
    let begins = |number: u64, is_marked: bool| {
        assert_eq!(begun.recv_timeout(PATIENCE), Ok((number.to_string().into_bytes(), is_marked)));
    };
    let first = Broker::at(&place);
    first.welcome();
    first.until_ready();
    first.ask(1);
    begins(1, false);
    first.ask(2);
    first.router.flush();
    first.until_read();
    drop(first);
    let second = Broker::at(&place);
    second.welcome();
    assert_eq!(second.until_ready().1, [1, 2]);
    end.send(()).unwrap();
    begins(2, true);
    // What the present connection brings is not.
    second.ask(3);
    second.ask(4);
    end.send(()).unwrap();
    begins(3, false);
    second.send(Header::Cancel { request: RequestId { client: CLIENT, number: 4 } }, &[]);
    end.send(()).unwrap();
    begins(4, true);
    end.send(()).unwrap();
}

#[test]
fn one_that_leaves_hands_over_what_a_broker_that_was_away_has_not_had() {
    // It may see that it is to leave before the broker is back, or after it has said READY there.
    for (test, is_early) in [(7, true), (8, false)] {
        let place = place(test);
        let (begun, end, control) = held_worker(&place, &Arc::default());
        let first = Broker::at(&place);
        first.welcome();
        first.until_ready();
        first.ask(1);
        begun.recv_timeout(PATIENCE).unwrap();
        drop(first);
        if is_early {
            control.leave();
            // tidy: allow(sleeps) it looks every 100 ms
            thread::sleep(Duration::from_millis(300));
        }
        end.send(()).unwrap();
        let second = Broker::at(&place);
        second.welcome();
        if !is_early {
            assert_eq!(second.until_ready().1, [1]);
            control.leave();
        }
        second.replies_with(1);
        assert_eq!(second.frames(), [b"HSN1\x09"]);
        second.send(Header::Drain, &[]);
        assert_eq!(second.frames(), [b"HSN1\x0a"]);
    }
}

#[test]
fn a_worker_speaks_plainly_to_a_plain_broker_in_the_place_of_one_that_numbers() {
    let place = place(9);
    let (begun, end, _) = held_worker(&place, &Arc::default());
    let first = Broker::at(&place);
    first.welcome();
    first.until_ready();
    first.ask(1);
    begun.recv_timeout(PATIENCE).unwrap();
    drop(first);
    for _ in 0..2 {
        let plain = Broker::plain_at(&place);
        assert_eq!(plain.frames()[1..], [b"MDPW01".to_vec(), vec![1], b"echo".to_vec()]);
    }
    let _ = end.send(());
}

/// A store that fails.
struct Broken;

impl ReplyStore for Broken {
    fn find(&mut self, _: RequestId) -> Option<StoredReply> {
        None
    }

    fn insert(&mut self, _: RequestId, _: StoredReply) {
        panic!("this store is broken");
    }

    fn forget_below(&mut self, _: ClientId, _: u64) {}

    fn held(&mut self) -> Vec<Held> {
        Vec::new()
    }
}

#[test]
fn a_store_that_panics_ends_its_worker() {
    let place = place(10);
    let worker = Worker::with_options(&[&place], "echo", WorkerOptions::default(), Broken).unwrap();
    let (say, said) = mpsc::channel();
    thread::spawn(move || {
        let serving = thread::spawn(move || worker.run(|request| Ok(request.body().into())));
        let _ = say.send(serving.join().is_err());
    });
    let broker = Broker::at(&place);
    broker.welcome();
    broker.until_ready();
    broker.ask(1);
    assert_eq!(said.recv_timeout(PATIENCE), Ok(true));
}
