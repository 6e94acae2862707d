//! The type `direct`: a message is routed to the bindings with its routing key.
//!
//! - The default exchange: each queue is bound to it by its name, and by nothing else.
//! - The type `fanout`: a message is routed to all bindings.

use foldhash::HashMap;

use super::binding::{Binding, BindingId};
use super::destination::Destinations;
use super::exchange_type::{ExchangeType, Visit};
use crate::queue::QueueId;

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

    fn route(&mut self, Visit { message, way, steps, found, .. }: Visit<'_>) -> bool {
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

#[derive(Debug, Default)]
pub(super) struct DefaultExchange {
    queues: HashMap<Box<[u8]>, QueueId>,
    /// The names of the queues, and whether they are durable.
    names: HashMap<QueueId, (Box<[u8]>, bool)>,
}

impl DefaultExchange {
    pub(super) fn add(&mut self, name: &[u8], queue: QueueId, is_durable: bool) {
        self.queues.insert(name.into(), queue);
        self.names.insert(queue, (name.into(), is_durable));
    }

    /// Takes a queue out. Returns its name, and whether the queue was durable.
    pub(super) fn remove(&mut self, queue: QueueId) -> Option<(Box<[u8]>, bool)> {
        let (name, is_durable) = self.names.remove(&queue)?;
        self.queues.remove(&name);
        Some((name, is_durable))
    }

    /// The name of a queue.
    pub(super) fn name_of(&self, queue: QueueId) -> Option<&[u8]> {
        self.names.get(&queue).map(|(name, _)| &**name)
    }

    /// Returns true if the queue is durable.
    pub(super) fn is_durable(&self, queue: QueueId) -> bool {
        self.names.get(&queue).is_some_and(|(_, is_durable)| *is_durable)
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<QueueId> {
        self.queues.get(name).copied()
    }
}

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

    fn route(&mut self, Visit { way, steps, found, .. }: Visit<'_>) -> bool {
        self.destinations.append_to(found, &mut way.left, steps)
    }
}
