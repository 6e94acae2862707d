//! Refusals of changes while nothing can be written: a change that cannot be kept is not begun.
//!
//! Objects on disk stay, and requests for them are answered: clients declare their queues again with each start. Deletions are
//! also accepted. They are kept, and take at most the memory of the deleted objects.

use hairstreak_broker::Refusal;
use hairstreak_broker::change::Change as Recorded;
use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::BindingInfo;
use hairstreak_wire::amqp::ReplyCode;

use super::journal::{Journal, JournalError};
use super::recording::to_definition;
use crate::definitions::{Kind, Place};

impl Journal {
    /// Checks that a change can be written.
    ///
    /// # Errors
    ///
    /// Nothing can be written now. For clients of AMQP the error is `PRECONDITION_FAILED`.
    pub fn check(&self) -> Result<(), JournalError> {
        self.refusal().map_or(Ok(()), Err)
    }

    /// Checks that an exchange can be declared.
    ///
    /// # Errors
    ///
    /// The exchange is durable, and not on disk, and nothing can be written now.
    pub fn check_exchange(
        &self,
        virtual_host: &str,
        host: &VirtualHost,
        declaration: &ExchangeDeclaration,
    ) -> Result<(), JournalError> {
        self.check().or_else(|error| {
            let is_there = || {
                let place = Place::new(Kind::Exchange, &[virtual_host.as_bytes(), &declaration.name]);
                host.topology().exchange(&declaration.name).is_some() && !self.is_unwritten(&place)
            };
            if declaration.is_durable && !is_there() { Err(error) } else { Ok(()) }
        })
    }

    /// Checks that a queue can be declared.
    ///
    /// # Errors
    ///
    /// The queue is durable, and not on disk, and nothing can be written now.
    pub fn check_queue(
        &self,
        virtual_host: &str,
        host: &VirtualHost,
        declaration: &QueueDeclaration,
    ) -> Result<(), JournalError> {
        self.check().or_else(|error| {
            let is_there = || {
                let place = Place::new(Kind::Queue, &[virtual_host.as_bytes(), &declaration.name]);
                host.queue(&declaration.name).is_some() && !self.is_unwritten(&place)
            };
            let is_durable = declaration.is_durable && !declaration.is_exclusive;
            if is_durable && !is_there() { Err(error) } else { Ok(()) }
        })
    }

    /// Checks that a binding can be made.
    ///
    /// # Errors
    ///
    /// The ends of the binding are durable, the binding is not on disk, and nothing can be written now.
    pub fn check_binding(
        &self,
        virtual_host: &str,
        host: &VirtualHost,
        binding: &BindingInfo,
    ) -> Result<(), JournalError> {
        self.check().or_else(|error| {
            let is_there = || {
                let place = to_definition(virtual_host, Recorded::Bound(binding.clone())).place();
                host.topology().is_bound(binding) && !self.is_unwritten(&place)
            };
            if has_durable_ends(host, binding) && !is_there() { Err(error) } else { Ok(()) }
        })
    }
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Refusal {
        Refusal::new(ReplyCode::PreconditionFailed, error.to_string())
    }
}

fn has_durable_ends(host: &VirtualHost, binding: &BindingInfo) -> bool {
    let topology = host.topology();
    let is_durable_exchange = |name| topology.exchange(name).is_some_and(|exchange| exchange.is_durable);
    let is_durable_queue =
        |name| host.queue(name).is_some_and(|queue| queue.is_durable && !queue.is_exclusive);
    let name = &binding.destination;
    let is_durable = if binding.is_to_exchange { is_durable_exchange(name) } else { is_durable_queue(name) };
    is_durable && is_durable_exchange(&binding.source)
}
