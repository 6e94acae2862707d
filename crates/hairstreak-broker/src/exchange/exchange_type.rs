//! `ExchangeType`: the routing by the bindings of one exchange. Each type of exchange is an implementation.

use std::fmt;

use hairstreak_wire::amqp::FieldTable;

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::routing::{Cacheable, Routing};
use super::topic::KeyWay;
use crate::queue::QueueId;
use crate::refusal::Refusal;
use crate::steps::Steps;

/// Load of a queue; less is better.
pub(super) type Load<'a> = &'a dyn Fn(QueueId) -> u64;

/// The progress of a message through the bindings of one exchange.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// The key that is matched: its place among the keys of the message.
    pub key: usize,
    /// The binding that is matched next.
    pub binding: BindingId,
    /// Number of destinations of the current list that are not appended yet. `None`: the list is not begun.
    pub left: Option<usize>,
    /// The progress of the key through the patterns.
    pub words: KeyWay,
}

/// One call for a message at an exchange.
pub(super) struct Visit<'a> {
    pub message: &'a Routing<'a>,
    pub load: Load<'a>,
    pub way: &'a mut Way,
    pub steps: &'a mut Steps,
    /// The destinations of the message.
    pub found: &'a mut Vec<Destination>,
}

/// The bindings from one exchange.
pub(super) trait ExchangeType: fmt::Debug + Send {
    /// Checks the routing key and the arguments of a new binding.
    fn check(&self, _key: &[u8], _arguments: &FieldTable) -> Result<(), Refusal> {
        Ok(())
    }

    /// Adds a binding, which was checked and is not there yet.
    fn bind(&mut self, id: BindingId, binding: &Binding);

    /// Removes an existing binding.
    fn unbind(&mut self, id: BindingId, binding: &Binding);

    /// Returns the number of steps of one `unbind`.
    fn unbind_steps(&self) -> usize {
        1
    }

    /// Appends the destinations of a message. The same destination may be appended twice. Returns true if these are all.
    /// Otherwise the next visit continues at `way`. Between two visits bindings may come and go; a binding that stays counts.
    fn route(&mut self, visit: Visit<'_>) -> bool;

    /// Returns `Yes` if exchange and routing key alone decide on a route.
    fn cacheable(&self) -> Cacheable {
        Cacheable::Yes
    }
}
