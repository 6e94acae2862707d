//! `Change`: one change of the definitions that outlive the node.

use crate::exchange::ExchangeDeclaration;
use crate::queue::QueueDeclaration;
use crate::view::BindingInfo;

/// One change. An object that goes with another one is a change of its own, and comes before: the bindings of an
/// exchange before the exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A durable exchange was created.
    ExchangeDeclared(ExchangeDeclaration),
    /// A durable exchange is gone.
    ExchangeDeleted {
        /// Its name.
        name: Box<[u8]>,
    },
    /// A durable queue was created.
    QueueDeclared(QueueDeclaration),
    /// A durable queue is gone.
    QueueDeleted {
        /// Its name.
        name: Box<[u8]>,
    },
    /// A binding between durable ends was created.
    Bound(BindingInfo),
    /// A binding between durable ends is gone.
    Unbound(BindingInfo),
}
