//! `ExchangeType`: what the bindings of one exchange do with a message. Each type of exchange is an implementation.

use std::fmt;

use hairstreak_wire::amqp::FieldTable;

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::routing::{Cacheable, Routing};
use crate::queue::QueueId;
use crate::refusal::Refusal;

/// How much a queue has to do; less is better.
pub(super) type Load<'a> = &'a dyn Fn(QueueId) -> u64;

/// The bindings from one exchange.
pub(super) trait ExchangeType: fmt::Debug + Send {
    /// Checks the routing key and the arguments of a new binding.
    fn check(&self, _key: &[u8], _arguments: &FieldTable) -> Result<(), Refusal> {
        Ok(())
    }

    /// Adds a binding, which was checked and is not there yet.
    fn bind(&mut self, id: BindingId, binding: &Binding, arguments: &FieldTable);

    /// Takes out a binding that is there.
    fn unbind(&mut self, id: BindingId, binding: &Binding);

    /// Appends the destinations that a message goes to. The same one may be appended twice.
    fn route(&mut self, message: &Routing<'_>, load: Load<'_>, found: &mut Vec<Destination>) -> Cacheable;
}
