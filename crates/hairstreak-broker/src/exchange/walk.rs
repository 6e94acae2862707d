//! `Walk`: the way of a message through the exchanges, from the first one along bindings and alternate exchanges. Each
//! exchange is visited once and each queue is found once, so that circles end.
//!
//! The lists are kept for the next message: nothing is allocated in the long run.

use super::destination::{Destination, ExchangeId};
use super::exchange_type::Load;
use super::routing::{Cacheable, Routing};
use super::stamps::Stamps;
use super::table::ExchangeTable;
use crate::queue::QueueId;

#[derive(Debug, Default)]
pub(super) struct Walk {
    visited: Stamps,
    queues: Stamps,
    /// Exchanges that are met and not visited yet.
    pending: Vec<ExchangeId>,
    /// Where the bindings of one exchange lead.
    found: Vec<Destination>,
}

impl Walk {
    /// Appends the queues that a message reaches from the exchange `first`.
    pub(super) fn route(
        &mut self,
        table: &mut ExchangeTable,
        first: ExchangeId,
        message: &Routing<'_>,
        load: Load<'_>,
        targets: &mut Vec<QueueId>,
    ) -> Cacheable {
        self.visited.clear();
        self.queues.clear();
        self.meet(first);
        let mut cacheable = Cacheable::Yes;
        while let Some(id) = self.pending.pop() {
            let Some(exchange) = table.get_mut(id) else { continue };
            self.found.clear();
            cacheable = cacheable.and(exchange.bindings.route(message, load, &mut self.found));
            if self.found.is_empty() {
                self.found.extend(table.alternate_of(id).map(Destination::Exchange));
            }
            self.follow(targets);
        }
        cacheable
    }

    /// Appends the queues of some keys, each once.
    pub(super) fn find_queues<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a [u8]>,
        find: impl Fn(&[u8]) -> Option<QueueId>,
        targets: &mut Vec<QueueId>,
    ) {
        self.queues.clear();
        targets.extend(keys.filter_map(find).filter(|queue| self.queues.add(queue.0)));
    }

    fn follow(&mut self, targets: &mut Vec<QueueId>) {
        for destination in &self.found {
            match *destination {
                Destination::Queue(queue) if self.queues.add(queue.0) => targets.push(queue),
                Destination::Exchange(id) if self.visited.add(id.0) => self.pending.push(id),
                Destination::Queue(_) | Destination::Exchange(_) => {}
            }
        }
    }

    fn meet(&mut self, id: ExchangeId) {
        if self.visited.add(id.0) {
            self.pending.push(id);
        }
    }
}
