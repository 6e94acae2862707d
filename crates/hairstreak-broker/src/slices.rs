//! Listing a table in slices, so that whoever lists many items can let others have their turn between two slices.

use slab::Slab;

/// Visits the items at the `count_max` positions from `from` on. Returns the position to go on from; `None` at the end.
///
/// An item that is there from the first slice to the last is visited once, whatever comes and goes meanwhile.
pub(crate) fn visit<T>(
    slab: &Slab<T>,
    from: usize,
    count_max: usize,
    mut visit: impl FnMut(usize, &T),
) -> Option<usize> {
    let end = from.saturating_add(count_max.max(1)).min(slab.capacity());
    for position in from..end {
        if let Some(item) = slab.get(position) {
            visit(position, item);
        }
    }
    (end < slab.capacity()).then_some(end)
}
