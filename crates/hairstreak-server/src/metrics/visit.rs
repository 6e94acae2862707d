//! `visit`: the objects of a virtual host in slices, so that no lock is held for long and other requests have their turn.

use hairstreak_broker::vhost::Views;
use parking_lot::MutexGuard;

use crate::node::SharedHost;

/// Rows of a table that are copied while the lock is held.
const SLICE_COUNT: usize = 256;

/// Calls `add` with the rows of a table. `list` appends up to so many rows from a cursor on, and returns the next cursor.
pub(super) async fn visit<T>(
    host: &SharedHost,
    list: impl Fn(&Views<'_>, usize, usize, &mut Vec<T>) -> Option<usize>,
    mut add: impl FnMut(T),
) {
    let (mut rows, mut cursor) = (Vec::new(), Some(0));
    while let Some(from) = cursor {
        {
            let state = host.lock();
            cursor = list(&state.host.views(), from, SLICE_COUNT, &mut rows);
            // A connection that waits for the lock has it next.
            MutexGuard::unlock_fair(state);
        }
        rows.drain(..).for_each(&mut add);
        tokio::task::yield_now().await;
    }
}
