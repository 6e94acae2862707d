//! `gather`: tables of a virtual host, copied in slices, so that the host's lock is never held for long.

use hairstreak_broker::vhost::Views;

use crate::node::SharedHost;

/// Rows of a table that are copied while the lock is held.
const SLICE_COUNT: usize = 256;

/// Copies a table. `list` appends up to so many rows from a cursor on, and returns the next cursor.
pub(super) fn gather<T>(
    host: &SharedHost,
    list: impl Fn(&Views<'_>, usize, usize, &mut Vec<T>) -> Option<usize>,
) -> Vec<T> {
    let mut rows = Vec::new();
    let mut cursor = Some(0);
    while let Some(from) = cursor {
        let state = host.lock();
        cursor = list(&state.host.views(), from, SLICE_COUNT, &mut rows);
        // A connection that waits for the lock has it next.
        parking_lot::MutexGuard::unlock_fair(state);
    }
    rows
}
