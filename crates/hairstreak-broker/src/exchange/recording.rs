//! Recording what outlives the node, and putting it back.

use super::binding::{Binding, BindingId};
use super::declaration::ExchangeDeclaration;
use super::destination::{Destination, ExchangeId};
use super::exchanges::Exchanges;
use super::refusals;
use crate::change::{Change, Changes};
use crate::queue::{QueueDeclaration, QueueId};
use crate::refusal::Refusal;
use crate::view::BindingInfo;

impl Exchanges {
    /// The changes of what outlives the node.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The changes of what outlives the node, to take them.
    pub(crate) fn changes_mut(&mut self) -> &mut Changes {
        &mut self.changes
    }

    /// Puts an exchange back: one with a reserved name, too.
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

    /// Puts a binding back. `queue` is the destination, if that is a queue.
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
        self.bind(&binding.source, destination, &binding.routing_key, &binding.arguments)
    }

    pub(super) fn note_declared(&mut self, declaration: &ExchangeDeclaration) {
        if self.changes.is_recording() && declaration.is_durable {
            self.changes.push(Change::ExchangeDeclared(declaration.clone()));
        }
    }

    /// Takes an exchange without bindings out.
    pub(super) fn remove_exchange(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.table.remove(id)
            && self.changes.is_recording()
            && exchange.declaration.is_durable
        {
            self.changes.push(Change::ExchangeDeleted { name: exchange.declaration.name });
        }
    }

    pub(super) fn note_queue(&mut self, declaration: &QueueDeclaration) {
        if self.changes.is_recording() && declaration.is_durable {
            self.changes.push(Change::QueueDeclared(declaration.clone()));
        }
    }

    /// Takes a queue without bindings out of the default exchange.
    pub(super) fn remove_default(&mut self, queue: QueueId) {
        if let Some((name, is_durable)) = self.default.remove(queue)
            && self.changes.is_recording()
            && is_durable
        {
            self.changes.push(Change::QueueDeleted { name });
        }
    }

    /// Notes a binding that has just come.
    pub(super) fn note_bound(&mut self, id: BindingId) {
        if self.changes.is_recording()
            && let Some(info) = self.durable_info(id)
        {
            self.changes.push(Change::Bound(info));
        }
    }

    /// Notes a binding that goes, and is still there.
    pub(super) fn note_unbound(&mut self, id: BindingId) {
        if self.changes.is_recording()
            && let Some(info) = self.durable_info(id)
        {
            self.changes.push(Change::Unbound(info));
        }
    }

    /// A binding that outlives the node.
    fn durable_info(&self, id: BindingId) -> Option<BindingInfo> {
        let binding = self.bindings.slab().get(id as usize)?;
        if self.is_durable(binding) { self.binding_info(id, binding) } else { None }
    }

    fn is_durable(&self, binding: &Binding) -> bool {
        let is_durable = |id| self.table.get(id).is_some_and(|exchange| exchange.declaration.is_durable);
        is_durable(binding.source)
            && match binding.destination {
                Destination::Queue(queue) => self.default.is_durable(queue),
                Destination::Exchange(exchange) => is_durable(exchange),
            }
    }
}
