//! The work from which on a split pays: the same work in one thread and in two stages with a link between them, over
//! each transport.
//!
//! Each stage is kept on a core of its own. The work is a loop whose number of rounds is computed beforehand, so that
//! it can be as short as a microsecond. The monolith and the splits take turns: a machine that becomes slower slows all
//! of them.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, process, thread};

use hairstreak_socket::{Context, Options, Pull, Push};
use serde::Serialize;

use super::core::{cores, keep_to};
use super::figures::{CalibrationError, median};

/// The longest work that is split.
pub const SPLIT_WORK_MAX: Duration = Duration::from_millis(1);
/// Work for a message.
const WORK_US: [u64; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
/// Approximate duration of a measurement.
const MEASURE_TIME: Duration = Duration::from_millis(60);
/// Bytes of a message, as in the butterfly tutorial.
const SIZE: usize = 100;
/// Longest wait for a message. A message that takes longer will never come.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Rounds of the loop that is timed.
const ROUNDS: u64 = 2_000_000;

/// The transport between the two stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Threads of one process.
    Inproc,
    /// Shared memory.
    Shm,
    /// A unix socket.
    Ipc,
    /// Loopback.
    Tcp,
}

/// The rates of a work, undivided and split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// Work for a message, in microseconds.
    pub work_us: u64,
    /// Messages a second of one thread that does all of the work: the median.
    pub monolith_per_s: f64,
    /// Rates of two stages that do half of the work each.
    pub rates: Vec<SplitRate>,
}

/// The rate of two stages over one transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitRate {
    /// The transport.
    pub transport: Transport,
    /// Messages a second: the median.
    pub per_s: f64,
    /// The rate as a multiple of the monolith measured just before: the median.
    pub times: f64,
    /// The least multiple.
    pub times_min: f64,
    /// The greatest multiple.
    pub times_max: f64,
}

impl Transport {
    /// All transports, the fastest first.
    pub const ALL: [Transport; 4] = [Transport::Inproc, Transport::Shm, Transport::Ipc, Transport::Tcp];
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Transport::Inproc => "inproc",
            Transport::Shm => "shm",
            Transport::Ipc => "ipc",
            Transport::Tcp => "tcp",
        })
    }
}

/// Measures each work from 1 us to [`SPLIT_WORK_MAX`] over each transport, `repeat_count` times (at least once). Each
/// repeat takes about four seconds.
///
/// # Errors
///
/// A socket or a thread cannot be opened, or a message does not arrive.
pub fn measure_splits(repeat_count: usize) -> Result<Vec<Split>, CalibrationError> {
    // A thread of its own, which is kept on a core. It runs the second stage and the monolith.
    let measuring = thread::Builder::new().spawn(move || {
        let cores = cores();
        keep_to(&cores, 0);
        let rounds_per_us = rounds_per_us();
        let of = |work_us: u64| measure(&cores, work_us, rounds_per_us, repeat_count.max(1));
        WORK_US.into_iter().map(of).collect()
    });
    let measuring = measuring.map_err(|error| CalibrationError::Thread(error.to_string()))?;
    measuring.join().map_err(|_| CalibrationError::Thread("the measuring thread panicked".into()))?
}

/// Returns the least work, in microseconds, from which on every split over `transport` had more than `times` the
/// monolith's rate. `None` if not even the longest work had.
pub fn break_even(splits: &[Split], transport: Transport, times: f64) -> Option<u64> {
    let pays = |split: &&Split| {
        let rate = split.rates.iter().find(|rate| rate.transport == transport);
        rate.is_some_and(|rate| rate.times > times)
    };
    splits.iter().rev().take_while(pays).last().map(|split| split.work_us)
}

fn measure(
    cores: &[usize],
    work_us: u64,
    rounds_per_us: f64,
    repeat_count: usize,
) -> Result<Split, CalibrationError> {
    let rounds = |us: f64| (us * rounds_per_us) as u64;
    let (whole, half) = (rounds(work_us as f64), rounds(work_us as f64 / 2.0));
    let count = (MEASURE_TIME.as_micros() as u64 / work_us).max(10);
    let mut monolith = Vec::new();
    let mut split: Vec<Vec<(f64, f64)>> = vec![Vec::new(); Transport::ALL.len()];
    for _ in 0..repeat_count {
        for (transport, rates) in Transport::ALL.into_iter().zip(&mut split) {
            let one = undivided(whole, count);
            let two = divided(cores, transport, half, count)?;
            monolith.push(one);
            rates.push((two, two / one));
        }
    }
    let rates = Transport::ALL.into_iter().zip(split).map(|(transport, measured)| {
        let times =
            |fold: fn(f64, f64) -> f64, from| measured.iter().map(|(_, times)| *times).fold(from, fold);
        SplitRate {
            transport,
            per_s: median(measured.iter().map(|(rate, _)| *rate).collect()),
            times: median(measured.iter().map(|(_, times)| *times).collect()),
            times_min: times(f64::min, f64::INFINITY),
            times_max: times(f64::max, 0.0),
        }
    });
    Ok(Split { work_us, monolith_per_s: median(monolith), rates: rates.collect() })
}

/// Work that no compiler shortens.
fn work(rounds: u64) {
    let mut state = 1u64;
    for round in 0..rounds {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round));
    }
}

/// Returns the result of the fastest attempt: other load only makes an attempt slower.
fn rounds_per_us() -> f64 {
    let attempt = |_| {
        let began = Instant::now();
        work(ROUNDS);
        ROUNDS as f64 / began.elapsed().as_secs_f64() / 1e6
    };
    (0..5).map(attempt).fold(0.0, f64::max)
}

/// Returns the messages a second of one thread.
fn undivided(rounds: u64, count: u64) -> f64 {
    let began = Instant::now();
    (0..count).for_each(|_| work(rounds));
    count as f64 / began.elapsed().as_secs_f64()
}

/// Returns the messages a second of two threads with a link between them: this thread, and a thread on the next core.
fn divided(cores: &[usize], transport: Transport, rounds: u64, count: u64) -> Result<f64, CalibrationError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!("hairstreak-split-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let options = Options { shared_memory: transport != Transport::Ipc, ..Options::default() };
    let context = Context::new();
    let pull = Pull::with_options(&context, options.clone())?;
    let endpoint = pull.bind(&match transport {
        Transport::Inproc => format!("inproc://{name}"),
        Transport::Shm => format!("shm://{name}"),
        Transport::Ipc => format!("ipc://@{name}"),
        Transport::Tcp => "tcp://127.0.0.1:*".to_owned(),
    })?;
    let endpoint = endpoint.to_string();
    thread::scope(|scope| {
        let first = thread::Builder::new().spawn_scoped(scope, || -> Result<Instant, CalibrationError> {
            keep_to(cores, 1);
            let push = Push::with_options(&context, options)?;
            push.connect(&endpoint)?;
            let body = [b'x'; SIZE];
            // The first message shows that the link is up.
            push.send(&body)?;
            push.flush();
            push.wait_for_peers(1, TIMEOUT);
            let began = Instant::now();
            for _ in 0..count {
                work(rounds);
                push.send(&body)?;
            }
            push.flush();
            Ok(began)
        });
        let first = first.map_err(|error| CalibrationError::Thread(error.to_string()))?;
        pull.recv_timeout(TIMEOUT)?;
        for _ in 0..count {
            pull.recv_timeout(TIMEOUT)?;
            work(rounds);
        }
        let ended = Instant::now();
        let began = first.join().map_err(|_| CalibrationError::Thread("a stage panicked".into()))??;
        Ok(count as f64 / (ended - began).as_secs_f64())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(work_us: u64, times: f64) -> Split {
        let rate =
            SplitRate { transport: Transport::Tcp, per_s: 1.0, times, times_min: times, times_max: times };
        Split { work_us, monolith_per_s: 1.0, rates: vec![rate] }
    }

    #[test]
    fn a_split_pays_from_where_it_always_does() {
        let splits = [split(1, 0.5), split(2, 1.1), split(5, 0.9), split(10, 1.2), split(20, 1.8)];
        assert_eq!(break_even(&splits, Transport::Tcp, 1.0), Some(10));
        assert_eq!(break_even(&splits, Transport::Tcp, 1.5), Some(20));
        assert_eq!(break_even(&splits[..3], Transport::Tcp, 1.0), None);
        assert_eq!(break_even(&splits, Transport::Shm, 1.0), None, "not measured");
    }

    #[test]
    fn every_transport_carries_all_messages() {
        for transport in Transport::ALL {
            let rate = divided(&cores(), transport, 10, 100).unwrap();
            assert!(rate.is_finite() && rate > 0.0, "{transport}: {rate}");
        }
    }
}
