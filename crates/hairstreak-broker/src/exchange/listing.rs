//! Listing exchanges and bindings for operators, and counting messages.

use hairstreak_wire::amqp::{EncodedTable, FieldTable};

use super::binding::{Binding, BindingId};
use super::destination::{Destination, ExchangeId};
use super::exchange::Exchange;
use super::exchanges::Exchanges;
use crate::queue::QueueId;
use crate::steps::visit_slice;
use crate::view::{BindingInfo, ExchangeInfo};

/// The type of the default exchange.
const DEFAULT_KIND: &[u8] = b"direct";

impl Exchanges {
    /// Messages were published to the exchange, and routed to that many queues each.
    pub(crate) fn note_published(&mut self, exchange: ExchangeId, message_count: u64, queue_count: u64) {
        let stats = match self.table.get_mut(exchange) {
            Some(exchange) => &mut exchange.stats,
            None if exchange == ExchangeId::DEFAULT => &mut self.default_stats,
            None => return,
        };
        stats.publish_in += message_count;
        stats.publish_out += message_count * queue_count;
    }

    /// The exchanges and bindings, for operators.
    pub(crate) fn listing(&self) -> Listing<'_> {
        Listing(self)
    }
}

/// Exchanges and bindings as operators see them.
#[derive(Clone, Copy)]
pub(crate) struct Listing<'a>(&'a Exchanges);

impl Listing<'_> {
    /// How many exchanges there are, without the default exchange.
    pub(crate) fn exchange_count(&self) -> usize {
        self.0.table.count()
    }

    /// How many bindings there are, without those of the default exchange.
    pub(crate) fn binding_count(&self) -> usize {
        self.0.bindings.count()
    }

    /// The exchange of that name; an empty name: the default exchange.
    pub(crate) fn info(&self, name: &[u8]) -> Option<ExchangeInfo> {
        if name.is_empty() {
            return Some(self.default_info());
        }
        Some(info_of(self.0.table.get(self.0.table.find(name)?)?))
    }

    /// Appends exchanges, the default exchange first. The cursor is as in [`visit_slice`].
    pub(crate) fn infos(&self, from: usize, count_max: usize, into: &mut Vec<ExchangeInfo>) -> Option<usize> {
        // The default exchange has the first position.
        let mut left = count_max.max(1);
        if from == 0 {
            into.push(self.default_info());
            left -= 1;
        }
        if left == 0 {
            return Some(1);
        }
        let next = self.0.table.visit(from.saturating_sub(1), left, |exchange| into.push(info_of(exchange)));
        next.map(|next| next + 1)
    }

    fn default_info(&self) -> ExchangeInfo {
        ExchangeInfo {
            name: Box::default(),
            kind: DEFAULT_KIND.into(),
            is_durable: true,
            is_auto_delete: false,
            is_internal: false,
            arguments: EncodedTable::default(),
            policy: None,
            stats: self.0.default_stats,
        }
    }

    /// Appends bindings. The cursor is as in [`visit_slice`].
    pub(crate) fn binding_infos(
        &self,
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        visit_slice(self.0.bindings.slab(), from, count_max, |id, binding| {
            into.extend(self.binding_info(id as BindingId, binding));
        })
    }

    /// Whether a binding is there.
    pub(crate) fn is_bound(
        &self,
        source: &[u8],
        destination: Destination,
        key: &[u8],
        arguments: &FieldTable,
    ) -> bool {
        self.0.table.find(source).is_some_and(|source| {
            self.0.bindings.find(&Binding::new(source, destination, key, arguments)).is_some()
        })
    }

    /// The same, with the names of both ends. `queue` is the queue that the destination is, if there is one.
    pub(crate) fn has(&self, binding: &BindingInfo, queue: Option<QueueId>) -> bool {
        let destination = match binding.is_to_exchange {
            true => self.0.table.find(&binding.destination).map(Destination::Exchange),
            false => queue.map(Destination::Queue),
        };
        destination.is_some_and(|destination| {
            self.is_bound(&binding.source, destination, &binding.routing_key, &binding.arguments.decode())
        })
    }

    /// Appends the bindings from an exchange, from the one with the number `from` on. Returns the number to go on from.
    pub(crate) fn bindings_from(
        &self,
        exchange: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        let ids = self.0.bindings.of_source_from(self.0.table.find(exchange)?, from as BindingId);
        self.append(ids, count_max, into)
    }

    /// The same for the bindings to an exchange.
    pub(crate) fn bindings_to_exchange(
        &self,
        exchange: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        let destination = Destination::Exchange(self.0.table.find(exchange)?);
        self.append(self.0.bindings.of_destination_from(destination, from as BindingId), count_max, into)
    }

    /// The same for the bindings to a queue.
    pub(crate) fn bindings_to_queue(
        &self,
        queue: QueueId,
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        let ids = self.0.bindings.of_destination_from(Destination::Queue(queue), from as BindingId);
        self.append(ids, count_max, into)
    }

    fn append(
        &self,
        mut ids: impl Iterator<Item = BindingId>,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        for id in ids.by_ref().take(count_max.max(1)) {
            let binding = self.0.bindings.slab().get(id as usize);
            into.extend(binding.and_then(|binding| self.binding_info(id, binding)));
        }
        ids.next().map(|id| id as usize)
    }

    /// A binding that outlives the node.
    pub(super) fn durable_binding(&self, id: BindingId) -> Option<BindingInfo> {
        let binding = self.0.bindings.slab().get(id as usize)?;
        let is_durable = |id| self.0.table.get(id).is_some_and(|exchange| exchange.declaration.is_durable);
        let has_durable_ends = is_durable(binding.source)
            && match binding.destination {
                Destination::Queue(queue) => self.0.default.is_durable(queue),
                Destination::Exchange(exchange) => is_durable(exchange),
            };
        if has_durable_ends { self.binding_info(id, binding) } else { None }
    }

    /// A binding with the names of its ends. A queue that was not announced has no name.
    fn binding_info(&self, id: BindingId, binding: &Binding) -> Option<BindingInfo> {
        let name = |id| self.0.table.get(id).map(|exchange| exchange.declaration.name.clone());
        let (destination, is_to_exchange) = match binding.destination {
            Destination::Queue(queue) => (self.0.default.name_of(queue)?.into(), false),
            Destination::Exchange(exchange) => (name(exchange)?, true),
        };
        Some(BindingInfo {
            source: name(binding.source)?,
            destination,
            is_to_exchange,
            routing_key: binding.key.clone(),
            arguments: self.0.bindings.arguments_of(id, binding),
        })
    }
}

fn info_of(exchange: &Exchange) -> ExchangeInfo {
    let declaration = &exchange.declaration;
    ExchangeInfo {
        name: declaration.name.clone(),
        kind: declaration.kind.clone(),
        is_durable: declaration.is_durable,
        is_auto_delete: declaration.is_auto_delete,
        is_internal: declaration.is_internal,
        arguments: declaration.arguments.clone(),
        policy: exchange.policies.user_name(),
        stats: exchange.stats,
    }
}
