//! `Topology`: the exchanges, queues and bindings of a virtual host. It adds and removes them, records the changes of durable
//! objects, and lists them for operators. [`Exchanges`](super::Exchanges) checks the requests of clients first.
//!
//! Listings take a cursor: 0 at first, then the position that the last call returned. `None` is the end.

use hairstreak_wire::amqp::{EncodedTable, FieldTable};

use super::binding::{Binding, BindingId};
use super::bindings::Bindings;
use super::destination::{Destination, ExchangeId};
use super::direct::DefaultExchange;
use super::exchange::{Exchange, ExchangeDeclaration};
use super::table::ExchangeTable;
use crate::change::{Change, Changes};
use crate::queue::{QueueDeclaration, QueueId};
use crate::stats::ExchangeStats;
use crate::steps::{Steps, visit_slice};
use crate::view::{BindingInfo, ExchangeInfo};

/// The type of the default exchange.
const DEFAULT_KIND: &[u8] = b"direct";
/// The steps of the removal of a binding.
const BINDING_STEPS: usize = 16;

/// The exchanges, queues and bindings of a virtual host.
#[derive(Debug)]
pub struct Topology {
    pub(crate) table: ExchangeTable,
    pub(super) bindings: Bindings,
    pub(super) default: DefaultExchange,
    /// The counters of the default exchange.
    default_stats: ExchangeStats,
    /// The changes of durable objects.
    pub(crate) changes: Changes,
    /// The number of changes that may change a route.
    pub(super) generation: u64,
    /// Exchanges that are being deleted.
    pub(crate) going: Vec<ExchangeId>,
}

impl Topology {
    pub(super) fn new() -> Topology {
        Topology {
            table: ExchangeTable::default(),
            bindings: Bindings::new(),
            default: DefaultExchange::default(),
            default_stats: ExchangeStats::default(),
            changes: Changes::default(),
            generation: 0,
            going: Vec::new(),
        }
    }

    pub(super) fn add_exchange(&mut self, exchange: Exchange) {
        let declaration = &exchange.declaration;
        self.changes.note(declaration.is_durable, || Change::ExchangeDeclared(declaration.clone()));
        self.table.add(exchange);
        self.generation += 1;
    }

    /// Adds a queue, which the default exchange finds by its name.
    pub(crate) fn add_queue(&mut self, declaration: &QueueDeclaration, queue: QueueId) {
        self.default.add(&declaration.name, queue, declaration.is_durable);
        self.changes.note(declaration.is_durable, || Change::QueueDeclared(declaration.clone()));
        self.generation += 1;
    }

    /// Forgets a queue without bindings.
    pub(crate) fn forget_queue(&mut self, queue: QueueId) {
        self.generation += 1;
        if let Some((name, is_durable)) = self.default.remove(queue) {
            self.changes.note(is_durable, || Change::QueueDeleted { name });
        }
    }

    /// Adds a binding, which was checked and is not there yet.
    pub(super) fn add_binding(&mut self, binding: &Binding, arguments: &FieldTable) {
        if let Some(id) = self.bindings.add(binding.clone(), arguments)
            && let Some(exchange) = self.table.get_mut(binding.source)
        {
            exchange.bindings.bind(id, binding);
            self.generation += 1;
            self.record_binding(id, Change::Bound);
        }
    }

    /// Removes the bindings to a queue or an exchange. Returns whether none is left.
    pub(crate) fn unbind_all_to(&mut self, destination: Destination, steps: &mut Steps) -> bool {
        while let Some(id) = self.bindings.first_of_destination(destination) {
            if steps.are_spent() {
                return false;
            }
            self.remove_binding(id, steps);
        }
        true
    }

    /// Removes a binding, and begins to remove the exchange that is deleted with its last binding.
    pub(super) fn remove_binding(&mut self, id: BindingId, steps: &mut Steps) {
        self.generation += 1;
        steps.charge(BINDING_STEPS);
        self.record_binding(id, Change::Unbound);
        let Some(binding) = self.bindings.remove(id) else { return };
        let source = binding.source;
        let Some(exchange) = self.table.get_mut(source) else { return };
        let unbind_steps = exchange.bindings.unbind_steps();
        // The bindings of a removed exchange are dropped with it if that is cheaper.
        if !exchange.is_going || unbind_steps == 1 {
            steps.charge(unbind_steps);
            exchange.bindings.unbind(id, &binding);
        }
        if exchange.declaration.is_auto_delete && !self.bindings.has_source(source) {
            self.begin_removal(source);
        }
    }

    /// Begins to remove an exchange; [`remove_going`](Topology::remove_going) does the rest.
    pub(super) fn begin_removal(&mut self, id: ExchangeId) {
        self.generation += 1;
        if let Some(exchange) = self.table.get_mut(id)
            && !std::mem::replace(&mut exchange.is_going, true)
        {
            self.going.push(id);
        }
    }

    /// Continues to remove exchanges: their bindings are removed first, and an exchange keeps its name until the last removal is
    /// recorded. Returns true if all are removed.
    pub(crate) fn remove_going(&mut self, steps: &mut Steps) -> bool {
        while let Some(id) = self.going.last().copied() {
            while let Some(binding) = self.bindings.first_of_source(id) {
                if steps.are_spent() {
                    return false;
                }
                self.remove_binding(binding, steps);
            }
            if !self.unbind_all_to(Destination::Exchange(id), steps) {
                return false;
            }
            self.going.retain(|other| *other != id);
            if let Some(exchange) = self.table.remove(id) {
                let ExchangeDeclaration { name, is_durable, .. } = exchange.declaration;
                self.changes.note(is_durable, || Change::ExchangeDeleted { name });
            }
        }
        true
    }

    /// Records a change of an existing binding, if both ends are durable.
    fn record_binding(&mut self, id: BindingId, change: fn(BindingInfo) -> Change) {
        if self.changes.is_recording()
            && let Some(binding) = self.durable_binding(id)
        {
            self.changes.push(change(binding));
        }
    }

    fn durable_binding(&self, id: BindingId) -> Option<BindingInfo> {
        let binding = self.bindings.slab().get(id as usize)?;
        let is_durable = |id| self.table.get(id).is_some_and(|exchange| exchange.declaration.is_durable);
        let has_durable_ends = is_durable(binding.source)
            && match binding.destination {
                Destination::Queue(queue) => self.default.is_durable(queue),
                Destination::Exchange(exchange) => is_durable(exchange),
            };
        if has_durable_ends { self.binding_info(id, binding) } else { None }
    }

    /// Counts messages that were published to an exchange and routed to `queue_count` queues each.
    pub(crate) fn note_published(&mut self, exchange: ExchangeId, message_count: u64, queue_count: u64) {
        let stats = match self.table.get_mut(exchange) {
            Some(exchange) => &mut exchange.stats,
            None if exchange == ExchangeId::DEFAULT => &mut self.default_stats,
            None => return,
        };
        stats.publish_in += message_count;
        stats.publish_out += message_count * queue_count;
    }

    /// The memory of exchanges and bindings, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.bindings.memory_bytes()
    }

    /// Returns true if the binding exists.
    pub fn is_bound(&self, binding: &BindingInfo) -> bool {
        let destination = match binding.is_to_exchange {
            true => self.table.find(&binding.destination).map(Destination::Exchange),
            false => self.default.find(&binding.destination).map(Destination::Queue),
        };
        let ends = self.table.find(&binding.source).zip(destination);
        ends.is_some_and(|(source, destination)| {
            let arguments = &binding.arguments.decode();
            self.bindings.find(&Binding::new(source, destination, &binding.routing_key, arguments)).is_some()
        })
    }

    /// The number of exchanges, the default exchange included.
    pub fn exchange_count(&self) -> usize {
        self.table.count() + 1
    }

    /// Returns the number of bindings, without the implicit bindings of the default exchange.
    pub fn binding_count(&self) -> usize {
        self.bindings.count()
    }

    /// The exchange of that name; an empty name: the default exchange.
    pub fn exchange(&self, name: &[u8]) -> Option<ExchangeInfo> {
        if name.is_empty() {
            return Some(self.default_info());
        }
        Some(exchange_info(self.table.get(self.table.find(name)?)?))
    }

    /// Appends the exchanges at up to `count_max` positions, the default exchange first.
    pub fn exchange_infos(
        &self,
        from: usize,
        count_max: usize,
        into: &mut Vec<ExchangeInfo>,
    ) -> Option<usize> {
        // The default exchange has the first position.
        let mut left = count_max.max(1);
        if from == 0 {
            into.push(self.default_info());
            left -= 1;
        }
        if left == 0 {
            return Some(1);
        }
        let add = |exchange: &Exchange| into.push(exchange_info(exchange));
        self.table.visit(from.saturating_sub(1), left, add).map(|next| next + 1)
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
            stats: self.default_stats,
        }
    }

    /// Appends the bindings at up to `count_max` positions, without the implicit bindings of the default exchange.
    pub fn binding_infos(&self, from: usize, count_max: usize, into: &mut Vec<BindingInfo>) -> Option<usize> {
        visit_slice(self.bindings.slab(), from, count_max, |id, binding| {
            into.extend(self.binding_info(id as BindingId, binding));
        })
    }

    /// Appends up to `count_max` bindings from an exchange. The cursor is the number of a binding.
    pub fn bindings_from(
        &self,
        exchange: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        let ids = self.bindings.of_source_from(self.table.find(exchange)?, from as BindingId);
        self.append(ids, count_max, into)
    }

    /// Appends the bindings to an exchange, as [`bindings_from`](Topology::bindings_from) does.
    pub fn bindings_to_exchange(
        &self,
        exchange: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        let destination = Destination::Exchange(self.table.find(exchange)?);
        self.append(self.bindings.of_destination_from(destination, from as BindingId), count_max, into)
    }

    /// Appends the bindings to a queue, as [`bindings_from`](Topology::bindings_from) does, without the binding of the default exchange.
    pub fn bindings_to_queue(
        &self,
        queue: &[u8],
        from: usize,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        let destination = Destination::Queue(self.default.find(queue)?);
        self.append(self.bindings.of_destination_from(destination, from as BindingId), count_max, into)
    }

    fn append(
        &self,
        mut ids: impl Iterator<Item = BindingId>,
        count_max: usize,
        into: &mut Vec<BindingInfo>,
    ) -> Option<usize> {
        for id in ids.by_ref().take(count_max.max(1)) {
            let binding = self.bindings.slab().get(id as usize);
            into.extend(binding.and_then(|binding| self.binding_info(id, binding)));
        }
        ids.next().map(|id| id as usize)
    }

    /// A binding with the names of its ends. A queue that was not added has no name.
    fn binding_info(&self, id: BindingId, binding: &Binding) -> Option<BindingInfo> {
        let name = |id| self.table.get(id).map(|exchange| exchange.declaration.name.clone());
        let (destination, is_to_exchange) = match binding.destination {
            Destination::Queue(queue) => (self.default.name_of(queue)?.into(), false),
            Destination::Exchange(exchange) => (name(exchange)?, true),
        };
        Some(BindingInfo {
            source: name(binding.source)?,
            destination,
            is_to_exchange,
            routing_key: binding.key.clone(),
            arguments: self.bindings.arguments_of(id, binding),
        })
    }
}

fn exchange_info(exchange: &Exchange) -> ExchangeInfo {
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
