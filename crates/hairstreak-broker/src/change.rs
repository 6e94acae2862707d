//! Changes of the definitions that outlive the node: durable exchanges and queues, and the bindings between them.
//!
//! An exchange is one of them if it is durable. A queue is one if it is durable and not exclusive. A binding is one if both
//! of its ends are, exchanges that each virtual host has included.

use crate::exchange::ExchangeDeclaration;
use crate::queue::QueueDeclaration;
use crate::view::BindingInfo;

/// One change. An object that is deleted with another one is a change of its own, and comes before: the bindings of an exchange
/// before the exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A durable exchange was created.
    ExchangeDeclared(ExchangeDeclaration),
    /// A durable exchange was deleted.
    ExchangeDeleted {
        /// Name of the exchange.
        name: Box<[u8]>,
    },
    /// A durable queue was created.
    QueueDeclared(QueueDeclaration),
    /// A durable queue was deleted.
    QueueDeleted {
        /// Name of the queue.
        name: Box<[u8]>,
    },
    /// A binding between durable ends was created.
    Bound(BindingInfo),
    /// A binding between durable ends was deleted.
    Unbound(BindingInfo),
}

/// The changes so far, in their order. Recording is off at first.
#[derive(Debug, Default)]
pub struct Changes {
    is_recording: bool,
    changes: Vec<Change>,
}

impl Changes {
    /// Sets whether changes are recorded from now on. Returns whether they were before.
    pub fn record(&mut self, is_recording: bool) -> bool {
        std::mem::replace(&mut self.is_recording, is_recording)
    }

    /// Returns true if changes are recorded.
    pub(crate) fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Records a change of an object, if the object is durable.
    pub(crate) fn note(&mut self, is_durable: bool, change: impl FnOnce() -> Change) {
        if self.is_recording && is_durable {
            self.changes.push(change());
        }
    }

    /// Records a change.
    pub(crate) fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Returns true if no change is recorded.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Takes the changes since the last call.
    pub fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }
}
