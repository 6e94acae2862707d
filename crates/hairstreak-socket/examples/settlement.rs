//! What settlement costs: PUSH to PULL with and without it, in turns, two threads with an engine each.
//!
//! `cargo run --release -p hairstreak-socket --example settlement`: 8 and 64 bytes over tcp and shared memory, single and
//! batch calls, window 10,000; medians of seven, and the ratio of each pair.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::Settlement;
use hairstreak_socket::{Context, Message, Options, Pull, Push};

const MESSAGE_COUNT: usize = 10_000_000;
const BATCH_COUNT: usize = 1000;
const WINDOW: usize = 10_000;
const REPEATS: usize = 7;
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Clone, Copy)]
struct Case {
    place: &'static str,
    size: usize,
    in_batches: bool,
}

fn options(is_settled: bool) -> Options {
    let settlement =
        Settlement { unsettled_count_max: WINDOW, credit_count: WINDOW, ..Settlement::default() };
    Options { settlement: is_settled.then_some(settlement), ..Options::default() }
}

fn send(place: &str, case: Case, is_settled: bool) -> Outcome<()> {
    let push = Push::with_options(&Context::new(), options(is_settled))?;
    push.connect(place)?;
    let body = vec![7; case.size];
    if case.in_batches {
        let batch = vec![body.as_slice(); BATCH_COUNT];
        for _ in 0..MESSAGE_COUNT / BATCH_COUNT {
            push.send_all(batch.iter().copied())?;
        }
    } else {
        for _ in 0..MESSAGE_COUNT {
            push.send(&body)?;
        }
    }
    push.flush();
    if push.wait_settled(LONG) { Ok(()) } else { Err("not settled".into()) }
}

/// Million messages a second, from the first that was received to the last.
fn measure(case: Case, is_settled: bool) -> Outcome<f64> {
    let pull = Pull::with_options(&Context::new(), options(is_settled))?;
    let place = pull.bind(case.place)?.to_string();
    let sender = thread::spawn(move || send(&place, case, is_settled).map_err(|error| error.to_string()));
    let (mut message, mut messages) = (Message::new(), Vec::new());
    let mut receive = || -> Outcome<usize> {
        if case.in_batches {
            return Ok(pull.recv_many(&mut messages, BATCH_COUNT)?);
        }
        pull.recv_into(&mut message)?;
        Ok(1)
    };
    let first = receive()?;
    let since = Instant::now();
    let mut count = first;
    while count < MESSAGE_COUNT {
        count += receive()?;
    }
    let elapsed = since.elapsed();
    // Asking once more settles the last.
    let _ = pull.try_recv();
    sender.join().map_err(|_| "the sender panicked")??;
    Ok((count - first) as f64 / elapsed.as_secs_f64() / 1e6)
}

/// The least, the median and the greatest.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2], values[values.len() - 1])
}

fn main() -> Outcome<()> {
    println!("window {WINDOW}, n = {REPEATS}, M messages/s");
    for place in ["tcp://127.0.0.1:*", "shm://hairstreak-settlement"] {
        for (size, in_batches) in [(8, false), (8, true), (64, false), (64, true)] {
            let case = Case { place, size, in_batches };
            let (mut plain, mut settled, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..REPEATS {
                let (without, with) = (measure(case, false)?, measure(case, true)?);
                plain.push(without);
                settled.push(with);
                ratios.push(with / without);
            }
            let (least, ratio, most) = spread(ratios);
            let calls = if in_batches { "batch" } else { "one" };
            let (plain, settled) = (spread(plain).1, spread(settled).1);
            println!(
                "{place} {size} B, {calls}: {plain:.1} without, {settled:.1} with, ratio {ratio:.2} [{least:.2}-{most:.2}]"
            );
        }
    }
    Ok(())
}
