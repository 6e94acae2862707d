//! `Rights`: the rights of a user in one virtual host, over AMQP and over HTTP.
//!
//! | method | configure | write | read |
//! |---|---|---|---|
//! | queue.declare, queue.delete | the queue | | |
//! | queue.declare with a dead letter exchange | the queue | that exchange | the queue |
//! | exchange.declare, exchange.delete | the exchange | | |
//! | exchange.declare with an alternate exchange | the exchange | that exchange | the exchange |
//! | queue.bind, queue.unbind | | the queue | the exchange |
//! | exchange.bind, exchange.unbind | | the destination | the source |
//! | basic.publish | | the exchange | |
//! | basic.get, basic.consume, queue.purge | | | the queue |
//!
//! A passive declaration needs no right. A topic exchange also needs the routing key: the right to write it for publishing, to
//! read it for binding. Over AMQP the right on another exchange is for declarations of new objects only.
//!
//! The check and the act use the same name: [`without_line_breaks`](hairstreak_broker::without_line_breaks) comes before both.
//!
//! As in RabbitMQ the last twelve answers are kept, here until users or permissions change at all. A publisher who names the
//! exchange of the message before pays for a comparison.

use std::sync::Arc;

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::Exchanges;
use hairstreak_wire::amqp::EncodedTable;

use super::identity::Identity;
use super::resource::{Operation, Resource, refuse_topic};
use super::virtual_host_permissions::VirtualHostPermissions;

/// The answers that are kept.
const ANSWERS_COUNT_MAX: usize = 12;
/// Maximum size of a name and a key whose answer is kept, in bytes. AMQP allows 255 bytes for each.
const ANSWER_SIZE_MAX: usize = 1024;

/// The rights of a user in a virtual host, with the last answers.
#[derive(Debug)]
pub struct Rights {
    identity: Arc<Identity>,
    virtual_host: Box<str>,
    /// The generation of the permissions and answers.
    generation: u64,
    /// `None` after the permission was taken: everything is refused.
    permissions: Option<Arc<VirtualHostPermissions>>,
    answers: Vec<Answer>,
    /// The index of the last answer, for each operation on names and on topics.
    last: [u8; 6],
    /// Index of the answer to replace next.
    next: usize,
}

#[derive(Debug)]
struct Answer {
    operation: Operation,
    /// The name, followed by the routing key if there is one.
    bytes: Vec<u8>,
    /// The index of the routing key's first byte. `None`: the check is about the name.
    key_at: Option<usize>,
    is_allowed: bool,
}

impl Answer {
    #[inline]
    fn is_for(&self, operation: Operation, name: &[u8], key: Option<&[u8]>) -> bool {
        self.operation == operation
            && match (self.key_at, key) {
                (None, None) => *self.bytes == *name,
                (Some(at), Some(key)) => self.bytes[..at] == *name && self.bytes[at..] == *key,
                _ => false,
            }
    }
}

impl Rights {
    /// The rights of a user in a virtual host. `None`: the user has no access to the host. RabbitMQ answers connection.open
    /// with 530 (NOT_ALLOWED).
    pub fn open(identity: Arc<Identity>, virtual_host: &str) -> Option<Rights> {
        let (generation, permissions) = identity.permissions_and_generation(virtual_host);
        permissions.is_some().then(|| Rights {
            identity,
            virtual_host: virtual_host.into(),
            generation,
            permissions,
            answers: Vec::new(),
            last: [0; 6],
            next: 0,
        })
    }

    /// The user.
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Grows when users or permissions change: an earlier answer holds while this is the same.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.identity.generation()
    }

    /// Checks a use of an exchange or a queue.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not do this.
    pub fn check(&mut self, operation: Operation, resource: Resource<'_>) -> Result<(), Refusal> {
        if self.allows(operation, resource.name()) {
            return Ok(());
        }
        Err(resource.refuse(&self.virtual_host, self.identity.user()))
    }

    /// Checks the exchange that a declared object hands messages on to. `argument` names that exchange.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not read the object, or not write to the other exchange.
    pub fn check_forwarding(
        &mut self,
        resource: Resource<'_>,
        arguments: &EncodedTable,
        argument: &str,
        is_new: impl FnOnce() -> bool,
    ) -> Result<(), Refusal> {
        let value = arguments.get(argument);
        if let Some(exchange) = value.as_ref().and_then(|value| value.as_bytes())
            && is_new()
        {
            self.check(Operation::Read, resource)?;
            self.check(Operation::Write, Resource::Exchange(exchange))?;
        }
        Ok(())
    }

    /// Checks the routing key where the exchange is a topic exchange.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not use this key there.
    pub fn check_topic(
        &mut self,
        operation: Operation,
        exchange: &[u8],
        routing_key: &[u8],
        exchanges: &Exchanges,
    ) -> Result<(), Refusal> {
        if self.allows_topic(operation, exchange, routing_key) || !exchanges.is_topic(exchange) {
            return Ok(());
        }
        Err(refuse_topic(exchange, routing_key, &self.virtual_host, self.identity.user()))
    }

    /// As [`VirtualHostPermissions::allows`], by the permissions of now.
    #[inline]
    pub(super) fn allows(&mut self, operation: Operation, name: &[u8]) -> bool {
        self.answer(operation, name, None)
    }

    /// As [`VirtualHostPermissions::allows_topic`], by the permissions of now.
    #[inline]
    pub(super) fn allows_topic(&mut self, operation: Operation, exchange: &[u8], key: &[u8]) -> bool {
        self.answer(operation, exchange, Some(key))
    }

    #[inline]
    fn answer(&mut self, operation: Operation, name: &[u8], key: Option<&[u8]>) -> bool {
        if self.generation == self.identity.generation()
            && let Some(answer) = self.answers.get(usize::from(self.last[place(operation, key)]))
            && answer.is_for(operation, name, key)
        {
            return answer.is_allowed;
        }
        self.answer_slowly(operation, name, key)
    }

    #[cold]
    fn answer_slowly(&mut self, operation: Operation, name: &[u8], key: Option<&[u8]>) -> bool {
        if self.generation != self.identity.generation() {
            (self.generation, self.permissions) =
                self.identity.permissions_and_generation(&self.virtual_host);
            self.answers.clear();
            self.next = 0;
        }
        let known = self.answers.iter().position(|answer| answer.is_for(operation, name, key));
        let at = match known {
            Some(at) => at,
            None => {
                let is_allowed = self.ask(operation, name, key);
                if name.len() + key.map_or(0, <[u8]>::len) > ANSWER_SIZE_MAX {
                    return is_allowed;
                }
                self.add(operation, name, key, is_allowed)
            }
        };
        // INVARIANT: at most ANSWERS_COUNT_MAX answers are kept, so that the index fits.
        self.last[place(operation, key)] = at as u8;
        self.answers[at].is_allowed
    }

    fn ask(&self, operation: Operation, name: &[u8], key: Option<&[u8]>) -> bool {
        self.permissions.as_ref().is_some_and(|permissions| match key {
            Some(key) => permissions.allows_topic(operation, name, key),
            None => permissions.allows(operation, name),
        })
    }

    /// Keeps an answer in the place of the oldest. Returns the place.
    fn add(&mut self, operation: Operation, name: &[u8], key: Option<&[u8]>, is_allowed: bool) -> usize {
        let at = self.next;
        self.next = (at + 1) % ANSWERS_COUNT_MAX;
        if at == self.answers.len() {
            self.answers.push(Answer { operation, bytes: Vec::new(), key_at: None, is_allowed });
        }
        let answer = &mut self.answers[at];
        answer.bytes.clear();
        answer.bytes.extend_from_slice(name);
        answer.bytes.extend_from_slice(key.unwrap_or_default());
        *answer = Answer {
            operation,
            bytes: std::mem::take(&mut answer.bytes),
            key_at: key.map(|_| name.len()),
            is_allowed,
        };
        at
    }
}

/// The index of such checks in `last`.
#[inline]
fn place(operation: Operation, key: Option<&[u8]>) -> usize {
    operation as usize + if key.is_some() { 3 } else { 0 }
}
