//! `Topic`: the bindings of a topic exchange.

use super::trie::Trie;
use crate::exchange::binding::{Binding, BindingId};
use crate::exchange::destination::Destination;
use crate::exchange::exchange_type::{ExchangeType, Load, Way};
use crate::exchange::routing::Routing;
use crate::steps::Steps;

#[derive(Debug, Default)]
pub(in crate::exchange) struct Topic {
    trie: Trie,
}

impl ExchangeType for Topic {
    fn bind(&mut self, _: BindingId, binding: &Binding) {
        self.trie.add(&binding.key, binding.destination);
    }

    fn unbind(&mut self, _: BindingId, binding: &Binding) {
        self.trie.remove(&binding.key, binding.destination);
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
            if steps.are_spent() || !self.trie.find(key, &mut way.words, steps, found) {
                return false;
            }
            way.key += 1;
        }
        true
    }
}
