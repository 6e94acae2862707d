//! Publishes at a rate, in small batches. Each message says when its batch was due, and not when it could be written:
//! a broker that holds its producer up does not make its own latencies look better.

use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;

use super::super::amqp::Link;
use super::super::task::Flow;
use super::block::Block;
use super::clock::{now_ns, sleep_until};
use super::error::ClientError;

/// The least time between two batches.
const BATCH_INTERVAL_NS: f64 = 100_000.0;
const NS_PER_S: f64 = 1e9;
/// Otherwise the system puts wake-ups off by 50 us.
const TIMER_SLACK_NS: Option<NonZeroU64> = NonZeroU64::new(1);

/// Publishes for as long as the flow says. Returns how many messages that were.
pub fn publish(link: &mut Link, block: &mut Block, flow: &Flow, rate_per_s: f64) -> Result<u64, ClientError> {
    set_current_timer_slack(TIMER_SLACK_NS)?;
    let interval_ns = (NS_PER_S / rate_per_s).max(BATCH_INTERVAL_NS);
    let batch_count = (flow.duration_s * NS_PER_S / interval_ns).ceil() as u64;
    let (start_ns, mut count) = (now_ns(), 0);
    for batch in 1..=batch_count {
        let due_ns = start_ns + (batch as f64 * interval_ns) as u64;
        if now_ns() < due_ns {
            sleep_until(due_ns)?;
        }
        let mut left =
            ((batch as f64 * interval_ns * rate_per_s / NS_PER_S).round() as u64).saturating_sub(count);
        block.stamp(left, due_ns);
        while left > 0 {
            let written = block.write(&mut link.stream, left)?;
            left -= written;
            count += written;
        }
    }
    Ok(count)
}
