//! Memory stays within the bound of the window, whichever part outruns the others.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use hairstreak::pipeline::{PipelineOptions, Sink};
use hairstreak_socket::settlement::{Settlement, Settling};
use hairstreak_socket::{Context, Options, Pull, Push};
use hairstreak_testkit::until_eq;

use crate::part::{Part, bounded};
use crate::soak::amount;
use crate::{LONG, place};

const WORKERS: usize = 4;
/// Memory of a process without load: buffers, pools and spare segments.
const BASE_KIB: u64 = 24 * 1024;

/// Returns a figure of /proc/PID/status, in KiB.
fn kib(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn memory_is_bounded_by_the_window_however_much_is_produced() {
    bounded(|| {
        let one = |size, window| Load { size, window, frames: 1, copies: 1 };
        let (frames, copies) = (Load { frames: 3, ..one(5000, 100) }, Load { copies: 3, ..one(5000, 100) });
        let short = [one(8, 10_000), one(1024, 10_000), one(65_536, 100), frames, copies];
        let mut long = vec![one(8, 100), one(1024, 100), one(65_536, 10_000)];
        long.extend([Load { window: 1000, ..frames }, Load { window: 1000, ..copies }]);
        let is_long = amount(0, 1) == 1;
        for &load in short.iter().chain(long.iter().filter(|_| is_long)) {
            load.run(Duration::from_secs(amount(1, 60) as u64));
        }
    });
}

/// The load of a pipeline: the size of a frame, the window, the frames of a task, and its results.
#[derive(Clone, Copy, Debug)]
struct Load {
    size: usize,
    window: usize,
    frames: usize,
    copies: usize,
}

impl Load {
    /// Runs a ventilator that sends as fast as possible, workers without work, and a slow sink in this process.
    fn run(self, time: Duration) {
        let Load { size, window, frames, copies } = self;
        let (tasks, control) = (place(), place());
        let words = format!(
            "ventilator tasks={tasks} control={control} window={window} count={} size={size} frames={frames}",
            u64::MAX
        );
        let mut ventilator = Part::start(&words);
        ventilator.is_ready();
        let options =
            PipelineOptions { window: window.into(), deliveries_max: 0, ..PipelineOptions::default() };
        let mut sink = Sink::bind("tcp://127.0.0.1:*", &control, &options).unwrap();
        let results = sink.endpoint().to_string();
        let words = format!("worker from={tasks} to={results} window={window} copies={copies}");
        let mut workers = (0..WORKERS).map(|_| Part::start(&words)).collect::<Vec<_>>();
        workers.iter_mut().for_each(|worker| drop(worker.is_ready()));
        let (begin, mut count) = (Instant::now(), 0u64);
        while begin.elapsed() < time {
            assert!(sink.recv().unwrap().is_some());
            count += 1;
            if count.is_multiple_of(64) {
                std::thread::sleep(Duration::from_micros(100)); // tidy: allow(sleeps) the sink is slower than the others
            }
        }
        // The unsettled tasks at each place, and half as much again.
        let bound = BASE_KIB + (window * (size * frames * copies + 64) * 3 / 2 / 1024) as u64;
        let mut figures = Vec::new();
        for part in workers.iter().chain([&ventilator]) {
            let process = part.id().to_string();
            figures.push((kib(&process, "VmRSS"), kib(&process, "VmHWM")));
        }
        println!("{self:?}: {count} results; resident and most, KiB, workers and ventilator: {figures:?}");
        for (_, most) in figures {
            assert!(most < bound, "{self:?}: {most} KiB of {bound}");
        }
    }
}

#[test]
fn a_message_that_stays_unsettled_keeps_no_others() {
    bounded(|| {
        // In the long form the messages that stay unsettled nearly fill the window of 10,000.
        let mut part = Part::start(&format!("hoarder count={} size=64", amount(400_000, 4_500_000)));
        let said = part.says();
        println!("{said}");
        let grown = said.strip_prefix("grown by ").unwrap_or_else(|| panic!("it says {said:?}"));
        let grown = grown.parse::<u64>().unwrap();
        // Without compaction each such message keeps its segment.
        assert!(grown < amount(12 * 1024, 24 * 1024) as u64, "{grown} KiB");
        assert_eq!(part.last_words(), "all came again");
    });
}

/// Sends and receives `count` messages, of which each 500th stays unsettled. Then their receiver goes, and another
/// receives them.
pub fn hoard(count: usize, size: usize, say: impl Fn(&str)) {
    const KEEP: usize = 500;
    let settlement = Settlement { settling: Settling::ByHand, ..Settlement::default() };
    let options = Options { settlement: Some(settlement), ..Options::default() };
    let push = Push::with_options(&Context::new(), options.clone()).unwrap();
    let endpoint = push.bind("tcp://127.0.0.1:*").unwrap().to_string();
    let pull = || {
        let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
        pull.connect(&endpoint).unwrap();
        pull
    };
    let first = pull();
    let mut body = vec![7; size];
    let mut before = 0;
    for chunk in 0..count / KEEP {
        for number in chunk * KEEP..(chunk + 1) * KEEP {
            body[..8].copy_from_slice(&(number as u64).to_be_bytes());
            push.send_timeout(&body, LONG).unwrap();
        }
        push.flush();
        for at in 0..KEEP {
            let delivery = first.recv_delivery(LONG).unwrap();
            assert!(at == 0 || first.accept(&delivery));
        }
        if chunk == 20 {
            before = kib("self", "VmRSS");
        }
    }
    say(&format!("grown by {}", kib("self", "VmRSS").saturating_sub(before)));
    drop(first);
    let second = pull();
    let mut left = (0..count / KEEP).map(|chunk| (chunk * KEEP) as u64).collect::<HashSet<_>>();
    let begin = Instant::now();
    while push.unsettled().count > 0 {
        assert!(begin.elapsed() < LONG);
        let Ok(delivery) = second.recv_delivery(Duration::from_millis(10)) else { continue };
        let number = u64::from_be_bytes(*delivery.message.body().first_chunk().unwrap());
        // The last settlements may not have arrived.
        assert!(left.remove(&number) || number as usize >= count - 2 * KEEP, "{number}");
        assert_eq!(delivery.message.body().len(), size);
        assert!(second.accept(&delivery));
    }
    assert!(left.is_empty());
    say("all came again");
}

#[test]
fn what_had_its_time_keeps_no_memory() {
    bounded(|| {
        let mut part = Part::start("expirer waves=60 count=100 size=16000");
        let said = part.says();
        println!("{said}");
        let grown = said.strip_prefix("grown by ").unwrap_or_else(|| panic!("it says {said:?}"));
        // The sent messages have 94 MiB together.
        assert!(grown.parse::<u64>().unwrap() < 16 * 1024, "{grown} KiB");
        assert_eq!(part.last_words(), "60 are left");
    });
}

/// Sends `waves` of `count` messages. Each wave expires before the next is sent, except one message of it. The receiver
/// has all messages, and settles none.
pub fn expire(waves: usize, count: usize, size: usize, say: impl Fn(&str)) {
    const SOON: Duration = Duration::from_millis(20);
    let settlement =
        Settlement { settling: Settling::ByHand, credit_count: usize::MAX >> 1, ..Settlement::default() };
    let options = Options { settlement: Some(settlement), ..Options::default() };
    let push = Push::with_options(&Context::new(), options.clone()).unwrap();
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    pull.connect(&push.bind("tcp://127.0.0.1:*").unwrap().to_string()).unwrap();
    let body = vec![7; size];
    let mut before = 0;
    for wave in 0..waves {
        push.send_within("patient", LONG * 10).unwrap();
        (0..count).for_each(|_| push.send_within(&body, SOON).unwrap());
        push.flush();
        (0..=count).for_each(|_| drop(pull.recv_delivery(LONG).unwrap()));
        until_eq("unsettled tasks", wave as u64 + 1, || push.unsettled().count);
        assert_eq!(push.take_refusals().len(), count);
        if wave == 3 {
            before = kib("self", "VmRSS");
        }
    }
    say(&format!("grown by {}", kib("self", "VmRSS").saturating_sub(before)));
    say(&format!("{} are left", push.unsettled().count));
}
