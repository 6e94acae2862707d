//! `ChangesMut`: recording what outlives the node, and putting it back when the node starts.

use hairstreak_wire::amqp::ReplyCode;

use super::parts::Parts;
use crate::change::Change;
use crate::queue::{QueueDeclaration, check_equivalence};
use crate::refusal::Refusal;
use crate::view::BindingInfo;

/// The changes of what outlives the node.
pub struct ChangesMut<'a> {
    pub(super) parts: &'a mut Parts,
}

impl ChangesMut<'_> {
    /// Whether changes are recorded from now on. None are at first. Whoever records takes them from time to time: they are
    /// kept until then.
    pub fn record(&mut self, is_recording: bool) {
        self.parts.exchanges.changes.record(is_recording);
    }

    /// Whether there is nothing to take.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.parts.exchanges.changes.is_empty()
    }

    /// Takes the changes since the last call, in their order.
    pub fn take(&mut self) -> Vec<Change> {
        self.parts.exchanges.changes.take()
    }

    /// Puts an exchange, a queue or a binding back when the node starts: whatever its name, and beyond every
    /// limit. Exchanges and queues come before the bindings between them. An object that is there already and is the same is
    /// no error. Nothing is recorded.
    ///
    /// # Errors
    ///
    /// The texts are those of declaring and binding. `PRECONDITION_FAILED`: arguments are invalid, or what is there is
    /// another object. `COMMAND_INVALID`: the type of the exchange is unknown. `NOT_FOUND`: an end of the binding is
    /// missing. `NOT_IMPLEMENTED`: the change takes something away.
    pub fn restore(&mut self, change: &Change, now: u64) -> Result<(), Refusal> {
        let was_recording = self.parts.exchanges.changes.record(false);
        let restored = match change {
            Change::ExchangeDeclared(declaration) => self.parts.exchanges.restore(declaration),
            Change::QueueDeclared(declaration) => self.restore_queue(declaration, now),
            Change::Bound(binding) => self.restore_binding(binding),
            Change::ExchangeDeleted { .. } | Change::QueueDeleted { .. } | Change::Unbound(_) => {
                Err(Refusal::new(ReplyCode::NotImplemented, "only what was declared can be put back"))
            }
        };
        self.parts.exchanges.changes.record(was_recording);
        restored
    }

    fn restore_queue(&mut self, declaration: &QueueDeclaration, now: u64) -> Result<(), Refusal> {
        let Parts { queues, .. } = &*self.parts;
        let shown = self.parts.show(&declaration.name).to_string();
        if let Some(id) = queues.find(&declaration.name) {
            return check_equivalence(queues.get(id), declaration, &shown);
        }
        if declaration.name.is_empty() || declaration.is_exclusive {
            let text = format!("{shown} does not outlive its connection");
            return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
        }
        self.parts.check_first(declaration, false)?;
        self.parts.add_queue(None, declaration.clone(), now);
        Ok(())
    }

    fn restore_binding(&mut self, binding: &BindingInfo) -> Result<(), Refusal> {
        if binding.is_to_exchange {
            return self.parts.exchanges.restore_binding(binding, None);
        }
        let queue = self.parts.queues.find(&binding.destination).ok_or_else(|| {
            let text = format!("no {}", self.parts.show(&binding.destination));
            Refusal::new(ReplyCode::NotFound, text)
        })?;
        self.parts.exchanges.restore_binding(binding, Some(queue))
    }
}
