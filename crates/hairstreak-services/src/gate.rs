//! `Gate`: which user a peer is, and what users may do. Asked by the machines that serve peers of ROUTERs.
//!
//! ```text
//!   peer --- request ---> machine --- user(routing id)? allows(user, write, "thumbnail")? ---> Gate
//! ```
//!
//! The gate decides by what is so at that moment. A machine that remembers an answer remembers the generation, too.

use std::fmt::Debug;

/// The kinds of permissions, as in AMQP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Registers a name in the directory, and gives it back.
    Configure,
    /// Calls a service.
    Write,
    /// Serves a service.
    Read,
}

/// Knows users and their permissions. Answers at once; called on the machine's thread.
pub trait Gate: Debug + Send {
    /// The user that the peer is, by the routing id that its ROUTER gave it. `None`: a peer without a user, which may do
    /// everything. The machine's driver lets no other peer without a user in.
    fn user<'id>(&self, routing_id: &'id [u8]) -> Option<&'id str>;

    /// A number that changes whenever the answer of [`Gate::allows`] may.
    fn generation(&self) -> u64;

    /// Whether the user may do that with the service or the entry of that name.
    fn allows(&self, user: &str, operation: Operation, name: &[u8]) -> bool;

    /// Whether the user may know that there is such a name: it may do anything with it.
    fn shows(&self, user: &str, name: &[u8]) -> bool {
        [Operation::Read, Operation::Write, Operation::Configure]
            .into_iter()
            .any(|operation| self.allows(user, operation, name))
    }
}

/// A gate that knows no users: every peer may do everything.
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
    //! A gate for tests: permissions by hand, and users by the first letters of routing ids.

    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};

    use super::{Gate, Operation};

    /// Users have what was granted, by names in full. A routing id `ann:1` is the user ann's; without a colon it has no user.
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

        /// How often it was asked whether somebody may do something.
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
