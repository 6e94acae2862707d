//! Permissions of users at the broker: call a service (write), be its worker (read), and see it (either, or configure).

use crate::gate::{Gate, Operation};

/// Refusal of a worker without the permission.
pub(super) const NO_READ: &str =
    "the user may not serve this service: that needs read permission for its name";
/// Refusal of a client without the permission.
pub(super) const NO_WRITE: &str =
    "the user may not call this service: that needs write permission for its name";

/// The gate, and the generation of its last known answers.
#[derive(Debug)]
pub(super) struct Permissions {
    gate: Box<dyn Gate>,
    /// Generation at the last check of all workers.
    generation: u64,
}

impl Permissions {
    pub fn new(gate: Box<dyn Gate>) -> Permissions {
        Permissions { generation: gate.generation(), gate }
    }

    pub fn gate(&self) -> &dyn Gate {
        &*self.gate
    }

    /// Returns whether that user, if any, may be a worker of the service of that name.
    pub fn may_serve(&self, user: Option<&str>, name: &[u8]) -> bool {
        user.is_none_or(|user| self.gate.allows(user, Operation::Read, name))
    }

    /// Returns whether that user, if any, may see the service of that name.
    pub fn shows(&self, user: Option<&str>, name: &[u8]) -> bool {
        user.is_none_or(|user| self.gate.shows(user, name))
    }

    /// Returns whether answers may have changed since the last call.
    pub fn take_change(&mut self) -> bool {
        let generation = self.gate.generation();
        std::mem::replace(&mut self.generation, generation) != generation
    }
}
