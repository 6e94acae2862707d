//! A worker beside a broker that the test is itself: it restarts at the worst instants.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak::service::{ClientId, Held, MemoryStore, RequestId, Worker, WorkerOptions};
use hairstreak_socket::{Context, Message, Options, Router, RouterNotify};
use hairstreak_wire::numbered::{Header, Numbered, ToBroker, parse_to_broker};

const CLIENT: ClientId = ClientId([7; 16]);
const PATIENCE: Duration = Duration::from_secs(20);

/// A broker in its test's hands. Dropped, it is dead.
struct Broker {
    router: Router,
    worker: Message,
}

impl Broker {
    /// Listens there until a worker has connected.
    fn at(place: &str) -> Broker {
        let router = listen(place);
        let notice = router.recv_timeout(PATIENCE).unwrap();
        assert_eq!(notice.as_frames()[1].size(), 0);
        let worker = Message::from_frames([notice.as_frames()[0].as_bytes()]);
        Broker { router, worker }
    }

    fn send(&self, header: Header, behind: &[&[u8]]) {
        let (worker, header) = (self.worker.as_frames()[0].as_bytes(), header.encode());
        let frames = [worker, header.as_ref()].into_iter().chain(behind.iter().copied());
        self.router.send(&Message::from_frames(frames)).unwrap();
    }

    fn welcome(&self) {
        self.send(Header::Welcome { broker: [1; 16], heartbeat_ms: 2_500 }, &[]);
    }

    fn ask(&self, number: u64) {
        let request = RequestId { client: CLIENT, number };
        let header = Header::Request { request, first: 1, lifetime_ms: 0, deliveries: 0, is_repeated: false };
        self.send(header, &[number.to_string().as_bytes()]);
    }

    /// What comes until READY, and the numbers that this lists.
    fn until_ready(&self) -> (Vec<Message>, Vec<u64>) {
        let mut before = Vec::new();
        loop {
            let message = self.router.recv_timeout(PATIENCE).unwrap();
            if let Ok(ToBroker::Ready { held, .. }) = parse_to_broker(&message.as_frames()[1..]) {
                let numbers = |held: Held| held.first..=held.last;
                return (before, held.ranges().flat_map(numbers).collect());
            }
            before.push(message);
        }
    }

    fn replies_with(&self, number: u64) {
        assert_eq!(self.reply(), Ok(number));
    }

    /// The number of the next request that is replied to, in one part, or why it is not.
    fn reply(&self) -> Result<u64, String> {
        let message = self.router.recv_timeout(PATIENCE).unwrap();
        match parse_to_broker(&message.as_frames()[1..]) {
            Ok(ToBroker::Reply(part)) if part.is_final => Ok(part.request.number),
            Ok(ToBroker::Refused { text, .. }) => Err(String::from_utf8_lossy(text).into_owned()),
            other => panic!("{other:?} instead of a reply"),
        }
    }
}

fn listen(place: &str) -> Router {
    let options = Options {
        router_notify: RouterNotify { connect: true, disconnect: false },
        properties: vec![Numbered.to_property()],
        linger_ms: 0,
        ..Options::default()
    };
    let end = Instant::now() + PATIENCE;
    loop {
        let router = Router::with_options(&Context::new(), options.clone()).unwrap();
        match router.bind(place) {
            Ok(_) => return router,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        // tidy: allow(sleeps) the place is free when the broker before is gone
        thread::sleep(Duration::from_millis(5));
    }
}

/// A place of this test alone, which brokers come back to. The port is none that a connection is given by the system.
fn place(test: u8) -> String {
    let process = std::process::id();
    format!("tcp://127.{}.{}.{test}:5559", 1 + process / 250 % 250, 1 + process % 250)
}

fn connect(place: &str, concurrency: usize) -> Worker {
    let options = WorkerOptions { concurrency, capacity: Some(64), ..WorkerOptions::default() };
    Worker::with_options(&[place], "echo", options, MemoryStore::new()).unwrap()
}

/// A worker of one thread whose first request ends when it is told to, and which says what it begins.
fn worker(place: &str) -> (mpsc::Receiver<u64>, mpsc::Sender<()>) {
    let worker = connect(place, 1);
    let (begin, begun) = mpsc::channel();
    let (end, ends) = mpsc::channel();
    let ends = std::sync::Mutex::new(ends);
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
    // tidy: allow(sleeps) the requests arrive at a worker that does not look
    thread::sleep(Duration::from_millis(100));
    drop(first);
    let second = Broker::at(&place);
    second.welcome();
    // tidy: allow(sleeps) so does the welcome
    thread::sleep(Duration::from_millis(100));
    end.send(()).unwrap();
    let (before, mut held) = second.until_ready();
    held.sort_unstable();
    assert_eq!(held, (1..=40).collect::<Vec<u64>>());
    assert!(before.len() <= 1, "{before:?}");
    (2..=40).for_each(|number| second.replies_with(number));
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
