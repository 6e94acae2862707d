//! `Gate`: the user behind a peer, and the permissions of users. The machines that serve peers of ROUTERs ask it.
//!
//! ```text
//!   peer --- request ---> machine --- user(routing id)? allows(user, write, "thumbnail")? ---> Gate
//! ```
//!
//! The gate decides by the state of that moment. A machine that caches an answer stores the generation too.

use std::fmt::Debug;

/// Kinds of permissions, as in AMQP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Register a name in the directory, and release it.
    Configure,
    /// Call a service.
    Write,
    /// Serve a service.
    Read,
}

/// Users and their permissions. Answers at once; called on the machine's thread.
pub trait Gate: Debug + Send {
    /// Returns the user of the peer with the routing id that its ROUTER gave it. `None`: the peer has no user and may
    /// do everything. The driver of the machine admits no other peer without a user.
    fn user<'id>(&self, routing_id: &'id [u8]) -> Option<&'id str>;

    /// Returns a number that changes whenever an answer of [`Gate::allows`] may change.
    fn generation(&self) -> u64;

    /// Returns whether the user may do `operation` with the service or the entry of that name.
    fn allows(&self, user: &str, operation: Operation, name: &[u8]) -> bool;

    /// Returns whether the user may see the name. Any permission for it suffices.
    fn shows(&self, user: &str, name: &[u8]) -> bool {
        [Operation::Read, Operation::Write, Operation::Configure]
            .into_iter()
            .any(|operation| self.allows(user, operation, name))
    }
}

/// Gate without users: every peer may do everything.
#[derive(Clone, Copy, Debug)]
pub struct OpenGate;

impl Gate for OpenGate {
    fn user<'id>(&self, _routing_id: &'id [u8]) -> Option<&'id str> {
        None
    }

    fn generation(&self) -> u64 {
        0
    }

    fn allows(&self, _user: &str, _operation: Operation, _name: &[u8]) -> bool {
        true
    }
}

#[cfg(test)]
pub(crate) mod table {
    //! Gate for tests: its permissions are set by hand, and the first letters of a routing id name the user.

    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};

    use super::{Gate, Operation};

    /// Permissions of users by full names. The routing id `ann:1` belongs to the user ann; an id without a colon has no
    /// user.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct TableGate(Arc<Mutex<Table>>);

    #[derive(Debug, Default)]
    struct Table {
        generation: u64,
        rows: HashSet<(String, Operation, Vec<u8>)>,
        asked: usize,
    }

    impl TableGate {
        pub fn grant(&self, user: &str, operation: Operation, name: &str) {
            let mut table = self.0.lock().unwrap();
            table.rows.insert((user.into(), operation, name.into()));
            table.generation += 1;
        }

        pub fn revoke(&self, user: &str, operation: Operation, name: &str) {
            let mut table = self.0.lock().unwrap();
            assert!(table.rows.remove(&(user.into(), operation, name.into())));
            table.generation += 1;
        }

        /// Returns the number of calls of `allows`.
        pub fn asked(&self) -> usize {
            self.0.lock().unwrap().asked
        }
    }

    impl Gate for TableGate {
        fn user<'id>(&self, routing_id: &'id [u8]) -> Option<&'id str> {
            let text = str::from_utf8(routing_id).ok()?;
            text.split_once(':').map(|(user, _)| user)
        }

        fn generation(&self) -> u64 {
            self.0.lock().unwrap().generation
        }

        fn allows(&self, user: &str, operation: Operation, name: &[u8]) -> bool {
            let mut table = self.0.lock().unwrap();
            table.asked += 1;
            table.rows.contains(&(user.into(), operation, name.into()))
        }
    }
}
