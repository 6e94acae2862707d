//! The cost of a message for both ends of a tcp link, worked out from the time that a chain of threads spends.

use std::time::Duration;

use hairstreak_model::LinkCost;

use super::chain::pass;
use super::error::CalibrationError;
use super::median::median;

/// Messages that travel alone, and what the stage computes for each.
const ALONE_COUNT: usize = 400;
const WORK: Duration = Duration::from_micros(200);
/// Bytes that are sent as fast as possible, and messages at most.
const GATHERED_BYTES: usize = 32 << 20;
const GATHERED_COUNT_MAX: usize = 100_000;

/// Measures once.
pub(super) fn measure(size: usize) -> Result<LinkCost, CalibrationError> {
    let gathered = pass(size, (GATHERED_BYTES / size.max(1)).min(GATHERED_COUNT_MAX), Duration::ZERO)?;
    // Three threads send and three receive. Those that do both are the same as one of each.
    let receive = gathered.last;
    let send = (gathered.source + gathered.stage + gathered.hub + gathered.background - 2.0 * receive) / 3.0;
    let send = send.max(0.0);
    let alone = pass(size, ALONE_COUNT, WORK)?;
    // The stage finds its messages waiting, and writes each by itself; hub and last are woken up by each.
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

/// The median of several measurements, figure by figure.
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
