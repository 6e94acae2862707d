//! `PolicySlice`: some queues and exchanges of a virtual host that changed policies may be for, copied so that patterns are matched without the
//! host's lock.

use std::sync::Arc;

use super::apply_to::ObjectKind;
use super::policies::{Applied, Policies};

/// The place in a virtual host from which on policies have not taken effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyCursor {
    pub(crate) has_done_exchanges: bool,
    pub(crate) position: usize,
}

/// Queues or exchanges, and the policies that apply to them.
#[derive(Debug)]
pub struct PolicySlice {
    policies: Arc<Policies>,
    pub(crate) objects: Vec<Object>,
    next: Option<PolicyCursor>,
    /// The objects to which the policies apply by now.
    pub(crate) changed_count: usize,
    /// Those of them whose messages are within the lengths of the policies.
    pub(crate) done_count: usize,
}

/// A queue or an exchange.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: ObjectKind,
    pub(crate) applied: Applied,
}

impl PolicySlice {
    pub(crate) fn new(
        policies: Arc<Policies>,
        objects: Vec<Object>,
        next: Option<PolicyCursor>,
    ) -> PolicySlice {
        PolicySlice { policies, objects, next, changed_count: 0, done_count: 0 }
    }

    /// Matches the names with the patterns: the long part, without the host.
    pub fn match_names(&mut self) {
        for Object { name, kind, applied } in &mut self.objects {
            *applied = self.policies.find(name, *kind, applied, &mut 0);
        }
    }

    /// Whether the slice has nothing to change.
    pub fn is_done(&self) -> bool {
        self.done_count == self.objects.len()
    }

    /// The place of the next slice; `None` at the end.
    pub fn next(&self) -> Option<PolicyCursor> {
        self.next
    }
}
