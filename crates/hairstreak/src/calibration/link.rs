//! The cost of a message for both ends of a tcp link, worked out from the time that a chain of threads spends.

use std::thread;
use std::time::Duration;

use hairstreak_model::{LinkCost, Links};

use super::chain::pass;
use super::core::lateness;
use super::figures::{Calibration, CalibrationError, median};

/// Number of messages that travel alone, and the stage's work for each.
const ALONE_COUNT: usize = 400;
const WORK: Duration = Duration::from_micros(200);
/// Bytes that are sent as fast as possible, and the largest number of messages.
const GATHERED_BYTES: usize = 32 << 20;
const GATHERED_COUNT_MAX: usize = 100_000;

/// Measures the cost of a message of `size` bytes once.
pub(super) fn measure(size: usize) -> Result<LinkCost, CalibrationError> {
    let gathered = pass(size, (GATHERED_BYTES / size.max(1)).min(GATHERED_COUNT_MAX), Duration::ZERO)?;
    // Three threads send and three receive. Stage and hub cost a send and a receive each.
    let receive = gathered.last;
    let send = (gathered.source + gathered.stage + gathered.hub + gathered.background - 2.0 * receive) / 3.0;
    let send = send.max(0.0);
    let alone = pass(size, ALONE_COUNT, WORK)?;
    // The stage finds its messages waiting, and writes each by itself. Each message wakes up hub and last.
    let background = alone.background / 2.0;
    let send_alone = (alone.stage - receive + background).max(send);
    let receive_in_hub = alone.hub + background - send_alone;
    let receive_alone = ((receive_in_hub + alone.last) / 2.0).max(receive);
    Ok(LinkCost {
        size: size as u64,
        send_alone_ns: send_alone,
        receive_alone_ns: receive_alone,
        send_ns: send,
        receive_ns: receive,
        latency_ns: (alone.delay - send_alone - receive_alone).max(0.0),
    })
}

/// Returns the median of several measurements, figure by figure.
pub(super) fn medians(costs: &[LinkCost]) -> LinkCost {
    let of = |figure: fn(&LinkCost) -> f64| median(costs.iter().map(figure).collect());
    LinkCost {
        size: costs.first().map_or(0, |cost| cost.size),
        send_alone_ns: of(|cost| cost.send_alone_ns),
        receive_alone_ns: of(|cost| cost.receive_alone_ns),
        send_ns: of(|cost| cost.send_ns),
        receive_ns: of(|cost| cost.receive_ns),
        latency_ns: of(|cost| cost.latency_ns),
    }
}

/// Sizes of messages that are measured, in bytes.
const SIZES: [usize; 5] = [64, 1 << 10, 8 << 10, 32 << 10, 128 << 10];
/// The limits up to which a link of a socket gathers: a time, and a number of bytes.
const GATHER: Duration = Duration::from_micros(50);
const GATHER_BYTES: u64 = 64 << 10;

/// Measures this machine and returns the medians. The cost of messages is measured `repeat_count` times (at least
/// once), each time for about a second.
///
/// # Errors
///
/// A socket or a thread cannot be opened, or a message does not arrive.
pub fn calibrate(repeat_count: usize) -> Result<Calibration, CalibrationError> {
    let mut costs = Vec::with_capacity(SIZES.len());
    let wake_up = lateness()?;
    for size in SIZES {
        let measured = (0..repeat_count.max(1)).map(|_| measure(size));
        costs.push(medians(&measured.collect::<Result<Vec<_>, _>>()?));
    }
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    Ok(Calibration { cores, wake_up, links: Links::new(costs, GATHER, GATHER_BYTES)? })
}
