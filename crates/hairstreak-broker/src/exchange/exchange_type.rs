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
    /// Otherwise the next call continues at `way`. Between calls bindings may come and go; a binding that stays counts.
    fn route(
        &mut self,
        message: &Routing<'_>,
        load: Load<'_>,
        way: &mut Way,
        steps: &mut Steps,
        found: &mut Vec<Destination>,
    ) -> bool;

    /// Returns `Yes` if exchange and routing key alone decide on a route.
    fn cacheable(&self) -> Cacheable {
        Cacheable::Yes
    }
}
