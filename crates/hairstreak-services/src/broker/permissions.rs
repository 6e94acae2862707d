//! The rights of users here: call a service (write), be its worker (read), and see it (either, or configure).

use crate::gate::{Gate, Operation};

/// The refusal for a worker without the permission.
pub(super) const NO_READ: &str =
    "the user may not serve this service: that needs read permission for its name";
/// The refusal for a client.
pub(super) const NO_WRITE: &str =
    "the user may not call this service: that needs write permission for its name";

/// The gate, and whether its answers may have changed.
#[derive(Debug)]
pub(super) struct Permissions {
    gate: Box<dyn Gate>,
    /// As of the last look at all workers.
    generation: u64,
}

impl Permissions {
    pub fn new(gate: Box<dyn Gate>) -> Permissions {
        Permissions { generation: gate.generation(), gate }
    }

    pub fn gate(&self) -> &dyn Gate {
        &*self.gate
    }

    /// Whether that user, if it is one, may be a worker of the service of that name.
    pub fn may_serve(&self, user: Option<&str>, name: &[u8]) -> bool {
        user.is_none_or(|user| self.gate.allows(user, Operation::Read, name))
    }

    /// Whether that user, if it is one, may know of the service of that name.
    pub fn shows(&self, user: Option<&str>, name: &[u8]) -> bool {
        user.is_none_or(|user| self.gate.shows(user, name))
    }

    /// Whether answers may have changed since this was asked the last time.
    pub fn take_change(&mut self) -> bool {
        let generation = self.gate.generation();
        std::mem::replace(&mut self.generation, generation) != generation
    }
}
