//! The type `fanout`: a message goes wherever a binding leads.

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::destinations::Destinations;
use super::exchange_type::{ExchangeType, Load, Way};
use super::routing::Routing;
use crate::steps::Steps;

#[derive(Debug, Default)]
pub(super) struct Fanout {
    destinations: Destinations,
}

impl ExchangeType for Fanout {
    fn bind(&mut self, _: BindingId, binding: &Binding) {
        self.destinations.add(binding.destination);
    }

    fn unbind(&mut self, _: BindingId, binding: &Binding) {
        self.destinations.remove(binding.destination);
    }

    fn route(
        &mut self,
        _: &Routing<'_>,
        _: Load<'_>,
        way: &mut Way,
        steps: &mut Steps,
        found: &mut Vec<Destination>,
    ) -> bool {
        self.destinations.append_to(found, &mut way.left, steps)
    }
}
