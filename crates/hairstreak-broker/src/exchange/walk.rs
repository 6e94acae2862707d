//! `Walk`: the way of a message through the exchanges, from the first one along bindings and alternate exchanges. Each
//! exchange is visited once and each queue is found once, so that circles end.
//!
//! A walk that needs more steps than one call has continues in a later call. Exchanges and bindings may come and go between the
//! two calls. A binding that exists all the time counts.
//!
//! The lists are kept for the next message, so that allocations are rare.

use super::destination::{Destination, ExchangeId};
use super::exchange_type::{Load, Visit, Way};
use super::routing::{Cacheable, Routing};
use super::stamps::Stamps;
use super::table::ExchangeTable;
use crate::queue::QueueId;
use crate::steps::Steps;

#[derive(Debug, Default)]
pub(crate) struct Walk {
    visited: Stamps,
    queues: Stamps,
    /// Exchanges that are met and not visited yet, with their serials.
    pending: Vec<(ExchangeId, u64)>,
    /// The exchange whose bindings are being matched, with its serial. `way` is the progress there, and `has_matched` the result
    /// so far.
    current: Option<(ExchangeId, u64)>,
    way: Way,
    has_matched: bool,
    /// Destinations of the bindings of one exchange.
    found: Vec<Destination>,
    cacheable: Option<Cacheable>,
}

impl Walk {
    /// A message begins its way at the exchange `first`.
    pub(super) fn begin(&mut self, table: &ExchangeTable, first: ExchangeId) {
        self.visited.clear();
        self.queues.clear();
        self.pending.clear();
        self.current = None;
        self.cacheable = Some(Cacheable::Yes);
        self.meet(table, first);
    }

    /// Appends the queues that the message reaches. Returns the cacheability of the route if these are all; `None`: the steps are
    /// spent.
    pub(crate) fn go_on(
        &mut self,
        table: &mut ExchangeTable,
        message: &Routing<'_>,
        load: Load<'_>,
        steps: &mut Steps,
        targets: &mut Vec<QueueId>,
    ) -> Option<Cacheable> {
        loop {
            let (id, serial) = match self.current {
                Some(current) => current,
                None => {
                    let Some(next) = self.pending.pop() else {
                        return Some(self.cacheable.unwrap_or(Cacheable::No));
                    };
                    (self.current, self.way, self.has_matched) = (Some(next), Way::default(), false);
                    next
                }
            };
            let Some(exchange) = table.get_mut(id).filter(|exchange| exchange.serial == serial) else {
                self.current = None;
                continue;
            };
            self.found.clear();
            let visit = Visit { message, load, way: &mut self.way, steps, found: &mut self.found };
            let is_whole = exchange.bindings.route(visit);
            self.has_matched |= !self.found.is_empty();
            if is_whole {
                steps.charge(1);
                self.current = None;
                self.cacheable = self.cacheable.map(|cacheable| cacheable.and(exchange.bindings.cacheable()));
                if !self.has_matched {
                    self.found.extend(table.alternate_of(id).map(Destination::Exchange));
                }
            }
            self.follow(table, targets);
            if !is_whole || steps.are_spent() && !self.pending.is_empty() {
                return None;
            }
        }
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

    fn follow(&mut self, table: &ExchangeTable, targets: &mut Vec<QueueId>) {
        let mut found = std::mem::take(&mut self.found);
        for destination in found.drain(..) {
            match destination {
                Destination::Queue(queue) if self.queues.add(queue.0) => targets.push(queue),
                Destination::Exchange(id) => self.meet(table, id),
                Destination::Queue(_) => {}
            }
        }
        self.found = found;
    }

    fn meet(&mut self, table: &ExchangeTable, id: ExchangeId) {
        if self.visited.add(id.0)
            && let Some(exchange) = table.get(id)
        {
            self.pending.push((id, exchange.serial));
        }
    }
}
