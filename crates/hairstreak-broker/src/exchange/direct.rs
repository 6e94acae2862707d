//! The type `direct`: a message goes where its routing key is the binding's.

use foldhash::HashMap;

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::destinations::Destinations;
use super::exchange_type::{ExchangeType, Load, Way};
use super::routing::Routing;
use crate::steps::Steps;

#[derive(Debug, Default)]
pub(super) struct Direct {
    keys: HashMap<Box<[u8]>, Destinations>,
}

impl ExchangeType for Direct {
    fn bind(&mut self, _: BindingId, binding: &Binding) {
        self.keys.entry(binding.key.clone()).or_default().add(binding.destination);
    }

    fn unbind(&mut self, _: BindingId, binding: &Binding) {
        if let Some(destinations) = self.keys.get_mut(&binding.key) {
            destinations.remove(binding.destination);
            if destinations.is_empty() {
                self.keys.remove(&binding.key);
            }
        }
    }

    fn route(
        &mut self,
        message: &Routing<'_>,
        _: Load<'_>,
        way: &mut Way,
        steps: &mut Steps,
        found: &mut Vec<Destination>,
    ) -> bool {
        for key in message.keys_from(way.key) {
            if steps.are_spent() {
                return false;
            }
            steps.charge(1);
            if let Some(destinations) = self.keys.get(key)
                && !destinations.append_to(found, &mut way.left, steps)
            {
                return false;
            }
            (way.key, way.left) = (way.key + 1, None);
        }
        true
    }
}
