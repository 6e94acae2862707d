//! Binding queues and exchanges to exchanges, and taking bindings back.

use hairstreak_wire::amqp::FieldTable;

use super::binding::Binding;
use super::destination::Destination;
use super::exchanges::{Exchanges, check_not_default};
use crate::queue::QueueId;
use crate::refusal::Refusal;
use crate::steps::Steps;

/// The steps of an unbind that has exchanges deleted. The rest of them goes later.
const UNBIND_STEPS: usize = 16_384;

impl Exchanges {
    /// Binds a queue to an exchange. A binding that is there already stays as it is.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED` for the default exchange, `NOT_FOUND`, and `PRECONDITION_FAILED` if the exchange does not take such
    /// a routing key or arguments, or the limit of memory is reached.
    pub fn bind_queue(
        &mut self,
        exchange: &[u8],
        queue: QueueId,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(exchange)?;
        self.bind(exchange, Destination::Queue(queue), key, arguments)
    }

    /// Takes a binding of a queue back. A binding or an exchange that does not exist is no error.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED` for the default exchange.
    pub fn unbind_queue(
        &mut self,
        exchange: &[u8],
        queue: QueueId,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(exchange)?;
        self.unbind(exchange, Destination::Queue(queue), key, arguments);
        Ok(())
    }

    /// Whether the queue has this binding.
    ///
    /// # Errors
    ///
    /// Those of [`unbind_queue`](Exchanges::unbind_queue).
    pub fn is_bound(
        &self,
        exchange: &[u8],
        queue: QueueId,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<bool, Refusal> {
        check_not_default(exchange)?;
        Ok(self.listing().is_bound(exchange, Destination::Queue(queue), key, arguments))
    }

    /// Binds the exchange `destination` to the exchange `source`: messages go from the source to the destination.
    ///
    /// # Errors
    ///
    /// Those of [`bind_queue`](Exchanges::bind_queue), for both exchanges.
    pub fn bind_exchange(
        &mut self,
        destination: &[u8],
        source: &[u8],
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(destination)?;
        check_not_default(source)?;
        self.find(source)?;
        let (destination, _) = self.find(destination)?;
        self.bind(source, Destination::Exchange(destination), key, arguments)
    }

    /// Takes a binding between two exchanges back. A binding or an exchange that does not exist is no error.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED` for the default exchange.
    pub fn unbind_exchange(
        &mut self,
        destination: &[u8],
        source: &[u8],
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(destination)?;
        check_not_default(source)?;
        if let Some(destination) = self.table.find(destination) {
            self.unbind(source, Destination::Exchange(destination), key, arguments);
        }
        Ok(())
    }

    pub(super) fn bind(
        &mut self,
        source: &[u8],
        destination: Destination,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        let (id, exchange) = self.find(source)?;
        let binding = Binding::new(id, destination, key, arguments);
        if self.bindings.find(&binding).is_some() {
            return Ok(());
        }
        self.check_room(source)?;
        exchange.bindings.check(key, arguments)?;
        if let Some(binding_id) = self.bindings.add(binding.clone(), arguments)
            && let Some(exchange) = self.table.get_mut(id)
        {
            exchange.bindings.bind(binding_id, &binding);
            self.generation += 1;
            self.note_bound(binding_id);
        }
        Ok(())
    }

    fn unbind(&mut self, source: &[u8], destination: Destination, key: &[u8], arguments: &FieldTable) {
        let Some(source) = self.table.find(source) else { return };
        let binding = Binding::new(source, destination, key, arguments);
        if let Some(id) = self.bindings.find(&binding) {
            let steps = &mut Steps::default();
            steps.begin(UNBIND_STEPS);
            self.remove_binding(id, steps);
            self.remove_going(steps);
        }
    }
}
