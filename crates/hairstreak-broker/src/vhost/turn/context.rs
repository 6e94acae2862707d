//! `Turn`: one call of a virtual host: its parts, the time, and the outbox that is lent.

use crate::vhost::parts::Parts;

/// One call of a virtual host. The operations are in the other files of the folder.
pub(in crate::vhost) struct Turn<'a, O> {
    pub(super) parts: &'a mut Parts,
    pub(super) now: u64,
    pub(super) outbox: &'a mut O,
    /// How many messages may still expire, and dead letters be written, in this turn.
    pub(super) budget: usize,
}

impl<'a, O> Turn<'a, O> {
    #[inline]
    pub(in crate::vhost) fn new(parts: &'a mut Parts, now: u64, outbox: &'a mut O) -> Turn<'a, O> {
        let budget = parts.limits.slice_max;
        parts.steps.begin(parts.limits.steps_max);
        Turn { parts, now, outbox, budget }
    }
}
