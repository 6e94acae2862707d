//! Recording what outlives the node, and putting it back.

use super::binding::BindingId;
use super::destination::{Destination, ExchangeId};
use super::exchange::ExchangeDeclaration;
use super::exchanges::Exchanges;
use super::refusals;
use crate::change::Change;
use crate::queue::QueueId;
use crate::refusal::Refusal;
use crate::view::BindingInfo;

impl Exchanges {
    /// Puts an exchange back: one with a reserved name and one beyond the limit of memory, too.
    ///
    /// # Errors
    ///
    /// `COMMAND_INVALID`, `PRECONDITION_FAILED`: as [`declare`](Exchanges::declare).
    pub(crate) fn restore(&mut self, declaration: &ExchangeDeclaration) -> Result<(), Refusal> {
        match self.table.find(&declaration.name) {
            Some(_) => self.declare(declaration),
            None if declaration.name.is_empty() => Err(refusals::default_exchange()),
            None => self.create(declaration.clone()),
        }
    }

    /// Puts a binding back, beyond the limit of memory too. `queue` is the destination, if that is a queue.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`: an exchange does not exist. `PRECONDITION_FAILED`: the exchange does not take such a binding.
    pub(crate) fn restore_binding(
        &mut self,
        binding: &BindingInfo,
        queue: Option<QueueId>,
    ) -> Result<(), Refusal> {
        let destination = match queue {
            Some(queue) => Destination::Queue(queue),
            None => Destination::Exchange(self.find(&binding.destination)?.0),
        };
        let limit = std::mem::replace(&mut self.memory_bytes_max, usize::MAX);
        let bound =
            self.bind(&binding.source, destination, &binding.routing_key, &binding.arguments.decode());
        self.memory_bytes_max = limit;
        bound
    }

    /// Takes an exchange without bindings out.
    pub(super) fn remove_exchange(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.table.remove(id) {
            let ExchangeDeclaration { name, is_durable, .. } = exchange.declaration;
            self.changes.note(is_durable, || Change::ExchangeDeleted { name });
        }
    }

    /// Notes a binding that has just come.
    pub(super) fn note_bound(&mut self, id: BindingId) {
        if self.changes.is_recording()
            && let Some(binding) = self.listing().durable_binding(id)
        {
            self.changes.push(Change::Bound(binding));
        }
    }

    /// Notes a binding that goes, and is still there.
    pub(super) fn note_unbound(&mut self, id: BindingId) {
        if self.changes.is_recording()
            && let Some(binding) = self.listing().durable_binding(id)
        {
            self.changes.push(Change::Unbound(binding));
        }
    }
}
