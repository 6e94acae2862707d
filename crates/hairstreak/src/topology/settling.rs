//! How the sockets of a run settle. Nobody waits for a settlement, so that they are told in bulk. How much may be
//! unsettled is no number: a filter may hold back all of its results until its input ends. What is on its way to an
//! instance is bounded by the sockets' marks.

use hairstreak_socket::Options;
use hairstreak_socket::settlement::{Settlement, Settling};

use super::definition::MESSAGES_MAX;

/// Of sockets that someone else's program may be connected to. They do not linger: what is unsent when a run ends,
/// nobody is there to take.
pub(super) fn plain() -> Options {
    Options { linger_ms: 0, ..Options::default() }
}

/// Of sockets between the runner and instances that it can start again.
pub(crate) fn settled() -> Options {
    let count = MESSAGES_MAX as usize;
    let settlement = Settlement {
        unsettled_count_max: count,
        credit_count: count,
        settling: Settling::ByHand,
        // A filter that holds its results back would never answer a message that is alone.
        alone_deliveries: 0,
        ..Settlement::default()
    };
    Options { settlement: Some(settlement), ..plain() }
}
