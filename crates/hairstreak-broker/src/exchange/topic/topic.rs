//! `Topic`: the bindings of a topic exchange.

use hairstreak_wire::amqp::FieldTable;

use super::trie::Trie;
use crate::exchange::binding::{Binding, BindingId};
use crate::exchange::destination::Destination;
use crate::exchange::exchange_type::{ExchangeType, Load};
use crate::exchange::routing::{Cacheable, Routing};

#[derive(Debug, Default)]
pub(in crate::exchange) struct Topic {
    trie: Trie,
}

impl ExchangeType for Topic {
    fn bind(&mut self, _: BindingId, binding: &Binding, _: &FieldTable) {
        self.trie.add(&binding.key, binding.destination);
    }

    fn unbind(&mut self, _: BindingId, binding: &Binding) {
        self.trie.remove(&binding.key, binding.destination);
    }

    fn route(&mut self, message: &Routing<'_>, _: Load<'_>, found: &mut Vec<Destination>) -> Cacheable {
        message.keys().for_each(|key| self.trie.find(key, found));
        Cacheable::Yes
    }
}
