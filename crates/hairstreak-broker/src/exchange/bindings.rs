//! `Bindings`: all bindings of a virtual host, by their identity, by their source and by their destination.

use std::hash::BuildHasher;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use hairstreak_base::Index;
use hairstreak_wire::amqp::{EncodedTable, FieldTable};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use slab::Slab;

use super::binding::{Binding, BindingId};
use super::destination::{Destination, ExchangeId};

#[derive(Debug)]
pub(super) struct Bindings {
    bindings: Slab<Binding>,
    /// The arguments as given, of the bindings whose arguments came in another order.
    given: HashMap<BindingId, EncodedTable>,
    memory_bytes: usize,
    /// Finds bindings by all of their fields.
    ids: HashTable<BindingId>,
    hasher: RandomState,
    of_source: Index<ExchangeId, BindingId>,
    of_destination: Index<Destination, BindingId>,
}

impl Bindings {
    pub(super) fn new() -> Bindings {
        Bindings {
            bindings: Slab::new(),
            given: HashMap::default(),
            memory_bytes: 0,
            ids: HashTable::new(),
            hasher: RandomState::default(),
            of_source: Index::default(),
            of_destination: Index::default(),
        }
    }

    /// Returns the number of bindings.
    pub(super) fn count(&self) -> usize {
        self.bindings.len()
    }

    /// The bindings by number.
    pub(super) fn slab(&self) -> &Slab<Binding> {
        &self.bindings
    }

    /// The memory of the bindings, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The arguments of a binding in the order in which they were given. The directory of definitions names the binding by them.
    pub(super) fn arguments_of(&self, id: BindingId, binding: &Binding) -> EncodedTable {
        self.given.get(&id).unwrap_or(&binding.arguments).clone()
    }

    /// Adds a binding. `None`: the binding exists already.
    pub(super) fn add(&mut self, binding: Binding, arguments: &FieldTable) -> Option<BindingId> {
        let (bindings, hasher) = (&mut self.bindings, &self.hasher);
        let hash = hasher.hash_one(&binding);
        let is_same = |id: &BindingId| bindings[*id as usize] == binding;
        let vacant = match self.ids.entry(hash, is_same, |id| hasher.hash_one(&bindings[*id as usize])) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(vacant) => vacant,
        };
        let (source, destination) = (binding.source, binding.destination);
        self.memory_bytes += binding.memory_bytes();
        let given = Some(EncodedTable::from(arguments)).filter(|given| *given != binding.arguments);
        let id = bindings.insert(binding) as BindingId;
        vacant.insert(id);
        if let Some(given) = given {
            self.memory_bytes += given.size();
            self.given.insert(id, given);
        }
        self.of_source.add(&source, id);
        self.of_destination.add(&destination, id);
        Some(id)
    }

    /// Returns the number of an existing binding.
    pub(super) fn find(&self, binding: &Binding) -> Option<BindingId> {
        let hash = self.hasher.hash_one(binding);
        self.ids.find(hash, |id| self.bindings[*id as usize] == *binding).copied()
    }

    /// Takes a binding out.
    pub(super) fn remove(&mut self, id: BindingId) -> Option<Binding> {
        let binding = self.bindings.try_remove(id as usize)?;
        if let Ok(entry) = self.ids.find_entry(self.hasher.hash_one(&binding), |other| *other == id) {
            entry.remove();
        }
        let given_size = self.given.remove(&id).map_or(0, |given| given.size());
        self.memory_bytes -= binding.memory_bytes() + given_size;
        self.of_source.remove(&binding.source, &id);
        self.of_destination.remove(&binding.destination, &id);
        Some(binding)
    }

    /// Returns true if a binding leads from the exchange.
    pub(super) fn has_source(&self, source: ExchangeId) -> bool {
        self.of_source.first(&source).is_some()
    }

    /// A binding from an exchange.
    pub(super) fn first_of_source(&self, source: ExchangeId) -> Option<BindingId> {
        self.of_source.first(&source).copied()
    }

    /// A binding to a queue or an exchange.
    pub(super) fn first_of_destination(&self, destination: Destination) -> Option<BindingId> {
        self.of_destination.first(&destination).copied()
    }

    /// The bindings from an exchange that have at least that number.
    pub(super) fn of_source_from(
        &self,
        source: ExchangeId,
        first: BindingId,
    ) -> impl Iterator<Item = BindingId> {
        self.of_source.iter_from(&source, first).copied()
    }

    /// The bindings to a queue or an exchange that have at least that number.
    pub(super) fn of_destination_from(
        &self,
        destination: Destination,
        first: BindingId,
    ) -> impl Iterator<Item = BindingId> {
        self.of_destination.iter_from(&destination, first).copied()
    }
}
