//! Policies of exchanges.

use std::sync::Arc;

use super::exchanges::Exchanges;
use crate::policy::{Applied, PolicyChange};

impl Exchanges {
    /// Changes the policies. Exchanges that are declared later have the new policies; existing exchanges get them by
    /// [`apply_policies`](Exchanges::apply_policies).
    pub(crate) fn change_policies(&mut self, changes: impl IntoIterator<Item = PolicyChange>) {
        let policies = Arc::make_mut(&mut self.policies);
        changes.into_iter().for_each(|change| policies.change(change));
    }

    /// Visits the exchanges at some positions with the policies that apply to them.
    pub(crate) fn visit_policies(
        &self,
        from: usize,
        count_max: usize,
        mut visit: impl FnMut(&[u8], &Applied),
    ) -> Option<usize> {
        self.table.visit(from, count_max, |exchange| visit(&exchange.declaration.name, &exchange.policies))
    }

    /// Other policies apply to an exchange, unless newer ones do.
    pub(crate) fn apply_policies(&mut self, name: &[u8], applied: &Applied) {
        let Some(exchange) = self.table.find(name).and_then(|id| self.table.get_mut(id)) else { return };
        if exchange.policies.generation() >= applied.generation() {
            return;
        }
        if applied.is_same(&exchange.policies) {
            exchange.policies = applied.clone();
        } else {
            exchange.set_policies(applied.clone());
            self.generation += 1;
        }
    }
}
