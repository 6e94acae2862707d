//! A part of a pipeline in a process of its own: this test binary, started again to run `the_part` alone.
//!
//! Words describe the part. The first word is its role: `worker window=10 from=tcp://... to=tcp://...`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak::Message;
use hairstreak::pipeline::{PipelineOptions, Reply, Sink, Ventilator, Worker};
use hairstreak_testkit::BoundedChild;

use crate::soak::amount;
use crate::store::Store;
use crate::{LONG, letters, memory};

/// The variable that makes a process a part.
const PART: &str = "HAIRSTREAK_TEST_PART";
/// The beginning of a line that is for the test and not of the test harness.
const MARK: &str = "@ ";

/// The description of a part.
struct Words(String);

impl Words {
    fn get<'a>(&'a self, name: &str) -> Option<&'a str> {
        self.0.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_else(|| panic!("{name} is missing in {:?}", self.0))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name).map(|word| word.parse().unwrap())
    }

    fn options(&self) -> PipelineOptions {
        let default = PipelineOptions::default();
        let time = |name: &str, default: u64| self.number(name).unwrap_or(default);
        PipelineOptions {
            window: (self.number("window").unwrap() as usize).into(),
            deliveries_max: self.number("deliveries_max").unwrap_or(0) as u16,
            keep_order: self.number("keep_order") == Some(1),
            lost_after: Duration::from_millis(time("lost_after", default.lost_after.as_millis() as u64)),
            heartbeat_ms: time("heartbeat", default.heartbeat_ms),
            heartbeat_timeout_ms: time("heartbeat_timeout", default.heartbeat_timeout_ms),
            ..default
        }
    }
}

fn say(what: &str) {
    println!("\n{MARK}{what}");
}

/// Runs the process of a part. Among the other tests it does nothing.
#[test]
fn the_part() {
    let Ok(words) = std::env::var(PART) else { return };
    let words = Words(words);
    let (order, orders) = mpsc::channel();
    thread::spawn(move || {
        // The end of standard input means that the test is gone.
        io::stdin().lines().map_while(Result::ok).for_each(|line| drop(order.send(line)));
        std::process::abort();
    });
    let size = |name| words.number(name).unwrap() as usize;
    match words.0.split(' ').next() {
        Some("worker") => be_worker(&words),
        Some("sink") => be_sink(&words),
        Some("dead_letters") => letters::be_dead_letter_sink(words.text("place"), say),
        Some("hoarder") => memory::hoard(size("count"), size("size"), say),
        Some("expirer") => memory::expire(size("waves"), size("count"), size("size"), say),
        Some("ventilator") => be_ventilator(&words, &orders),
        _ => panic!("{}", words.0),
    }
}

/// Returns each task as its result, `copies` times, after a sleep of `work_us`. A worker rejects numbers that `rejects`
/// divides, dies of the number `dies_of`, and hangs on the number `hangs_on`. It connects to the endpoints `from` and
/// `to`, and listens at `takes_at` and `gives_at`. With `stays` it does not exit, so that late workers of the next
/// stage still hear of the end. For each task that it begins, it appends a byte to the file `tally`.
fn be_worker(words: &Words) {
    let open = if words.number("relays") == Some(1) { Worker::relay } else { Worker::new };
    let worker = open(&words.options()).unwrap();
    let places = |name| words.get(name).into_iter().flat_map(|places| places.split(','));
    places("gives_at").for_each(|place| drop(worker.bind_results(place).unwrap()));
    places("takes_at").for_each(|place| drop(worker.bind_tasks(place).unwrap()));
    places("to").for_each(|place| worker.connect_results(place).unwrap());
    places("from").for_each(|place| worker.connect_tasks(place).unwrap());
    let work = words.number("work_us").map(Duration::from_micros);
    let copies = words.number("copies").unwrap_or(1) as usize;
    let (rejects, dies_of, hangs_on) =
        (words.number("rejects"), words.number("dies_of"), words.number("hangs_on"));
    let mut tally =
        words.get("tally").map(|path| File::options().create(true).append(true).open(path).unwrap());
    say("ready");
    let done = worker.run(|task| {
        if let Some(tally) = &mut tally {
            tally.write_all(b".").unwrap();
        }
        if let Some(work) = work {
            thread::sleep(work); // tidy: allow(sleeps) this is the work
        }
        let number = || std::str::from_utf8(task.message.body()).unwrap().parse::<u64>().unwrap();
        if dies_of.is_some_and(|deadly| number() == deadly) {
            std::process::abort();
        }
        while hangs_on.is_some_and(|endless| number() == endless) {
            thread::park();
        }
        if rejects.is_some_and(|rejects| number().is_multiple_of(rejects)) {
            return Reply::Reject("no such thing".into());
        }
        match copies {
            1 => Reply::Result(task.message.clone()),
            count => Reply::Results(vec![task.message.clone(); count]),
        }
    });
    match done {
        Ok(report) => say(&format!("ended {} {}", report.task_count, report.redelivered_count)),
        Err(error) => say(&format!("error {error}")),
    }
    while words.number("stays") == Some(1) {
        thread::park();
    }
}

/// Stores the results in a file, with the seen tasks, `many` at a time.
fn be_sink(words: &Words) {
    let remembers = words.number("remembers") == Some(1);
    let (mut store, seen) = Store::open(words.text("file"), remembers);
    let options = words.options();
    let mut sink = Sink::resume_from(seen, words.text("results"), words.text("control"), &options).unwrap();
    let is_one_by_one = words.number("many") == Some(0);
    say(&format!("ready {}", sink.endpoint()));
    let mut results = Vec::new();
    loop {
        let count = match is_one_by_one {
            true => sink.recv().map(|done| results.extend(done)).map(|()| results.len()),
            false => sink.recv_many(&mut results),
        };
        match count {
            Ok(0) => break,
            Ok(_) => store.append(&results, remembers.then(|| sink.seen())),
            Err(error) => return say(&format!("error {error}")),
        }
        results.clear();
    }
    let completion = sink.completion();
    say(&format!("ended {completion}; {} results", completion.result_count));
}

/// Sends `count` numbers, or numbers until it is told to finish, and waits for the end of the tasks. Each has `frames`
/// of `size` bytes. It begins when `workers` are connected. It prints a line when all tasks are sent, and a line with
/// the outcome.
fn be_ventilator(words: &Words, orders: &mpsc::Receiver<String>) {
    let bind = || Ventilator::bind(words.text("tasks"), words.text("control"), &words.options());
    let ventilator = bind().unwrap();
    say(&format!("ready {} {}", ventilator.endpoint(), ventilator.control_endpoint()));
    let count = words.number("count").unwrap();
    let workers = words.number("workers").unwrap_or(0) as usize;
    assert!(ventilator.wait_for_workers(workers, LONG));
    let pause = words.number("pause_us").map(Duration::from_micros);
    let frame_count = words.number("frames").unwrap_or(1) as usize;
    let mut body = Vec::new();
    for number in (0..count).take_while(|_| orders.try_recv().is_err()) {
        let number = number.to_string();
        match words.number("size") {
            Some(size) => {
                body.clear();
                body.resize((size as usize).saturating_sub(number.len()), b'0');
                body.extend(number.as_bytes());
                let message = Message::from_frames(vec![&body; frame_count]);
                ventilator.send(&message).unwrap();
            }
            None => ventilator.send(&number).unwrap(),
        }
        if let Some(pause) = pause {
            thread::sleep(pause); // tidy: allow(sleeps) tasks come so slowly
        }
    }
    say("sent");
    let finished = ventilator.finish(LONG).unwrap();
    say(&format!("ended {} {}", finished.count, finished.rejected));
}

/// The process of a part. Dropping it kills the process.
pub struct Part {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Part {
    pub fn start(words: &str) -> Part {
        Part::start_by(Command::new(std::env::current_exe().unwrap()), words)
    }

    /// Starts the part by a command that has only the program so far.
    pub fn start_by(mut command: Command, words: &str) -> Part {
        let mut child = command
            .args(["--exact", "part::the_part", "--nocapture", "--test-threads=1"])
            .env(PART, words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Part { child, lines }
    }

    /// Waits for the next line that the part prints; empty when the part has ended.
    pub fn says(&mut self) -> String {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return String::new();
            }
            if let Some(said) = line.strip_prefix(MARK) {
                return said.trim_end().to_string();
            }
        }
    }

    /// Returns the words behind "ready".
    pub fn is_ready(&mut self) -> Vec<String> {
        let said = self.says();
        let words = said.strip_prefix("ready").unwrap_or_else(|| panic!("it says {said:?}"));
        words.split_whitespace().map(str::to_string).collect()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn tell(&mut self, order: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.end();
    }

    /// Returns the last line that the part printed before it ended by itself.
    pub fn last_words(mut self) -> String {
        let mut last = String::new();
        loop {
            match self.says() {
                said if said.is_empty() => return last,
                said => last = said,
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a worker.
pub fn worker(from: &str, to: &str, window: usize) -> Part {
    Part::start(&format!("worker from={from} to={to} window={window}"))
}

/// Runs a test that would wait for ever if a part hangs.
pub fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let running = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let begin = Instant::now();
    match is_done.recv_timeout(LONG * amount(4, 60) as u32) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs, for {:?} now", begin.elapsed()),
        _ => running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}
