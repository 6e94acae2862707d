//! `PoliciesMut`: the policies of a virtual host change, and act on what is there slice by slice.

use super::outbox::HostOutbox;
use super::parts::Parts;
use super::turn::{Turn, policy_slice};
use crate::policy::{PolicyChange, PolicyCursor, PolicySlice};

/// Steps of a pattern that take as long as a queue entry.
const PATTERN_STEPS: usize = 16;

/// The policies of a virtual host, to change them and to have the changes act.
pub struct PoliciesMut<'a> {
    pub(super) parts: &'a mut Parts,
}

impl PoliciesMut<'_> {
    /// Changes the policies. Exchanges and queues that are declared from now on have the new ones. For the others take one
    /// [`slice`](PoliciesMut::slice) after the other.
    pub fn change(&mut self, changes: impl IntoIterator<Item = PolicyChange>) {
        self.parts.exchanges.change_policies(changes);
    }

    /// Some of the exchanges and queues that have not been matched with the policies.
    pub fn slice(&self, from: PolicyCursor) -> PolicySlice {
        policy_slice(self.parts, from)
    }

    /// Has policies that were matched act. Returns whether the slice is done; to be called again otherwise.
    ///
    /// As in RabbitMQ a time to live is for messages to come, and a queue's time to expiry begins again when it changes.
    /// Messages beyond a new length go, unless the queue refuses what it has no room for.
    pub fn act(&mut self, slice: &mut PolicySlice, now: u64, outbox: &mut impl HostOutbox) -> bool {
        Turn::new(self.parts, now, outbox).apply_policies(slice)
    }

    /// Adds the steps that declarations took with the patterns of policies since the last call to those of the host. One declaration takes a millisecond or two at most.
    pub fn charge_steps(&mut self) {
        let pattern_steps = std::mem::take(&mut self.parts.exchanges.pattern_steps);
        self.parts.steps.charge(pattern_steps / PATTERN_STEPS);
    }
}
