//! `ExchangeTable`: the exchanges of a virtual host by name and by number, without the default exchange.

use foldhash::HashMap;
use slab::Slab;

use super::destination::ExchangeId;
use super::exchange::Exchange;
use crate::steps::visit_slice;

#[derive(Debug, Default)]
pub(crate) struct ExchangeTable {
    exchanges: Slab<Exchange>,
    ids: HashMap<Box<[u8]>, ExchangeId>,
    memory_bytes: usize,
    /// Number of exchanges ever added.
    added_count: u64,
}

impl ExchangeTable {
    /// Returns the number of exchanges.
    pub(super) fn count(&self) -> usize {
        self.exchanges.len()
    }

    /// The memory of the exchanges without their bindings, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<ExchangeId> {
        self.ids.get(name).copied()
    }

    pub(super) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        self.exchanges.get(id.0 as usize)
    }

    pub(super) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.exchanges.get_mut(id.0 as usize)
    }

    /// Visits the exchanges at some positions, as [`visit_slice`] does.
    pub(super) fn visit(
        &self,
        from: usize,
        count_max: usize,
        mut visit: impl FnMut(&Exchange),
    ) -> Option<usize> {
        visit_slice(&self.exchanges, from, count_max, |_, exchange| visit(exchange))
    }

    /// Returns the alternate exchange, which gets the messages without a matching binding, if the exchange has one that exists.
    pub(super) fn alternate_of(&self, id: ExchangeId) -> Option<ExchangeId> {
        self.find(self.get(id)?.alternate.as_deref()?)
    }

    /// Adds an exchange with a new name.
    pub(super) fn add(&mut self, mut exchange: Exchange) {
        self.added_count += 1;
        exchange.serial = self.added_count;
        self.memory_bytes += exchange.memory_bytes();
        let name = exchange.declaration.name.clone();
        let id = ExchangeId(self.exchanges.insert(exchange) as u32);
        self.ids.insert(name, id);
    }

    /// Takes an exchange out.
    pub(super) fn remove(&mut self, id: ExchangeId) -> Option<Exchange> {
        let exchange = self.exchanges.try_remove(id.0 as usize)?;
        self.ids.remove(&exchange.declaration.name);
        self.memory_bytes -= exchange.memory_bytes();
        Some(exchange)
    }
}
