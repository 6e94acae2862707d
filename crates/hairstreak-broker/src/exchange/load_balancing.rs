//! The type `load_balancing`: a message is routed to one destination, the one with the least load, and in turn among equals.
//! Routing keys do not count. An exchange as a destination has no load of its own.
//!
//! RabbitMQ has no such type. The loads are compared until a destination without load is found. At most 4,096 destinations are
//! compared, beginning with the next in turn.

use super::binding::{Binding, BindingId};
use super::destination::{Destination, Destinations};
use super::exchange_type::{ExchangeType, Visit};
use super::routing::Cacheable;

/// Destinations whose loads are compared for a message; the turn continues behind the chosen one.
const COMPARED_COUNT_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct LoadBalancing {
    destinations: Destinations,
    /// The destination that is asked first for the next message. May lie behind the last one.
    turn: usize,
}

impl ExchangeType for LoadBalancing {
    fn bind(&mut self, _: BindingId, binding: &Binding) {
        self.destinations.add(binding.destination);
    }

    fn unbind(&mut self, _: BindingId, binding: &Binding) {
        self.destinations.remove(binding.destination);
    }

    fn route(&mut self, Visit { load, steps, found, .. }: Visit<'_>) -> bool {
        let destinations = self.destinations.as_slice();
        let (before, after) = destinations.split_at(self.turn.min(destinations.len()));
        let mut best: Option<(u64, usize)> = None;
        for (offset, destination) in after.iter().chain(before).take(COMPARED_COUNT_MAX).enumerate() {
            steps.charge(1);
            let load = match destination {
                Destination::Queue(queue) => load(*queue),
                Destination::Exchange(_) => 0,
            };
            if best.is_none_or(|(least, _)| load < least) {
                best = Some((load, (before.len() + offset) % destinations.len()));
            }
            if load == 0 {
                break;
            }
        }
        if let Some((_, index)) = best {
            found.push(destinations[index]);
            self.turn = index + 1;
        }
        true
    }

    fn cacheable(&self) -> Cacheable {
        Cacheable::No
    }
}
