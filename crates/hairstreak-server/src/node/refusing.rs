//! Refusals of changes while nothing can be written: what cannot be kept is not begun.
//!
//! Whatever is there stays, and is answered: clients declare their queues again with each start. Deletions are not refused either. They are kept, and
//! take no more memory than what they delete.

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::BindingInfo;
use hairstreak_wire::amqp::ReplyCode;

use super::journal::Journal;

impl Journal {
    /// Whether a change can be written.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED`: nothing can be written now.
    pub fn check(&self) -> Result<(), Refusal> {
        match self.refusal() {
            None => Ok(()),
            Some(error) => Err(Refusal::new(ReplyCode::PreconditionFailed, error.to_string())),
        }
    }

    /// Whether an exchange can be declared.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED`: the exchange is new and durable, and nothing can be written now.
    pub fn check_exchange(
        &self,
        host: &VirtualHost,
        declaration: &ExchangeDeclaration,
    ) -> Result<(), Refusal> {
        self.check().or_else(|refusal| {
            let is_kept = declaration.is_durable && host.views().exchange(&declaration.name).is_none();
            if is_kept { Err(refusal) } else { Ok(()) }
        })
    }

    /// Whether a queue can be declared.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED`: the queue is new and durable, and nothing can be written now.
    pub fn check_queue(&self, host: &VirtualHost, declaration: &QueueDeclaration) -> Result<(), Refusal> {
        self.check().or_else(|refusal| {
            let is_durable = declaration.is_durable && !declaration.is_exclusive;
            let is_kept = is_durable && host.views().queue(&declaration.name).is_none();
            if is_kept { Err(refusal) } else { Ok(()) }
        })
    }

    /// Whether a binding can be made.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED`: the binding is new, its ends are durable, and nothing can be written now.
    pub fn check_binding(&self, host: &VirtualHost, binding: &BindingInfo) -> Result<(), Refusal> {
        self.check().or_else(|refusal| if is_new_and_kept(host, binding) { Err(refusal) } else { Ok(()) })
    }
}

fn is_new_and_kept(host: &VirtualHost, binding: &BindingInfo) -> bool {
    let views = host.views();
    let is_durable_exchange = |name| views.exchange(name).is_some_and(|exchange| exchange.is_durable);
    let name = &binding.destination;
    let mut there = Vec::new();
    let is_durable = if binding.is_to_exchange {
        views.bindings_to_exchange(name, 0, usize::MAX, &mut there);
        is_durable_exchange(name)
    } else {
        views.bindings_to_queue(name, 0, usize::MAX, &mut there);
        views.queue(name).is_some_and(|queue| queue.is_durable && !queue.is_exclusive)
    };
    is_durable && is_durable_exchange(&binding.source) && !there.contains(binding)
}
