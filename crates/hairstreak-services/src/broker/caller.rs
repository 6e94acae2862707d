//! `Caller`: the user behind a client, and the service that the last check allowed.

use std::sync::Arc;

use crate::gate::{Gate, Operation};

/// The user of a client.
#[derive(Debug, Default)]
pub(super) struct Caller {
    /// `None`: the client has no user and may call every service.
    user: Option<Arc<str>>,
    permit: Option<Permit>,
}

/// A service that the user may call, as of the stored generation.
#[derive(Debug)]
struct Permit {
    generation: u64,
    service: Box<[u8]>,
}

impl Caller {
    /// Sets the user of the client.
    pub fn set_user(&mut self, user: Option<&str>) {
        if self.user.as_deref() != user {
            *self = Caller { user: user.map(Arc::from), permit: None };
        }
    }

    pub fn user(&self) -> Option<&Arc<str>> {
        self.user.as_ref()
    }

    /// Returns whether the client may call the service. A repeated call of the same service costs one comparison.
    pub fn may_call(&mut self, service: &[u8], gate: &dyn Gate) -> bool {
        let Some(user) = &self.user else { return true };
        let generation = gate.generation();
        if let Some(permit) = &self.permit
            && permit.generation == generation
            && *permit.service == *service
        {
            return true;
        }
        let may = gate.allows(user, Operation::Write, service);
        self.permit = may.then(|| Permit { generation, service: service.into() });
        may
    }
}
