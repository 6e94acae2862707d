//! Policies of exchanges.

use super::exchanges::Exchanges;
use crate::policy::Policies;

impl Exchanges {
    /// Other policies apply from now on to exchanges that there are, and to those to come.
    pub(crate) fn set_policies(&mut self, policies: Policies) {
        for exchange in self.table.iter_mut() {
            let applied = policies.for_exchange(&exchange.declaration.name);
            if !applied.is_same(&exchange.policies) {
                exchange.set_policies(applied);
            }
        }
        self.policies = policies;
        self.generation += 1;
    }
}
