//! The type `fanout`: a message goes wherever a binding leads.

use hairstreak_wire::amqp::FieldTable;

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::destinations::Destinations;
use super::exchange_type::{ExchangeType, Load};
use super::routing::{Cacheable, Routing};

#[derive(Debug, Default)]
pub(super) struct Fanout {
    destinations: Destinations,
}

impl ExchangeType for Fanout {
    fn bind(&mut self, _: BindingId, binding: &Binding, _: &FieldTable) {
        self.destinations.add(binding.destination);
    }

    fn unbind(&mut self, _: BindingId, binding: &Binding) {
        self.destinations.remove(binding.destination);
    }

    fn route(&mut self, _: &Routing<'_>, _: Load<'_>, found: &mut Vec<Destination>) -> Cacheable {
        found.extend_from_slice(self.destinations.as_slice());
        Cacheable::Yes
    }
}
