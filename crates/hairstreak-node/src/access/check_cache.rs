//! `CheckCache`: the last answers of a user's permissions in one virtual host.
//!
//! As in RabbitMQ the last twelve answers are kept, here until users or permissions change at all. A publisher who names the
//! exchange of the message before pays for a comparison.

use std::sync::Arc;

use super::identity::Identity;
use super::resource::Operation;
use super::virtual_host_permissions::VirtualHostPermissions;

/// The answers that are kept.
const ANSWERS_COUNT_MAX: usize = 12;
/// The most bytes of a name and a key whose answer is kept. Those of AMQP have 255 each.
const ANSWER_SIZE_MAX: usize = 1024;

/// A connection's or a channel's checks in one virtual host.
#[derive(Debug)]
pub struct CheckCache {
    identity: Arc<Identity>,
    virtual_host: Box<str>,
    /// The changes that permissions and answers know of.
    generation: u64,
    /// None after the permission was taken: everything is refused.
    permissions: Option<Arc<VirtualHostPermissions>>,
    answers: Vec<Answer>,
    /// The index of the last answer, for each operation on names and on topics.
    last: [u8; 6],
    /// The answer to be replaced next.
    next: usize,
}

#[derive(Debug)]
struct Answer {
    operation: Operation,
    /// The name, and the routing key behind the name if there is one.
    bytes: Vec<u8>,
    /// The index of the routing key's first byte; none if the check is about the name.
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

impl CheckCache {
    /// The checks of a user in a virtual host. None if the user has no access to the host: RabbitMQ answers connection.open
    /// with 530 (NOT_ALLOWED).
    pub fn open(identity: Arc<Identity>, virtual_host: &str) -> Option<CheckCache> {
        let (generation, permissions) = identity.permissions_and_generation(virtual_host);
        permissions.is_some().then(|| CheckCache {
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

    /// As [`VirtualHostPermissions::allows`], by the permissions of now.
    #[inline]
    pub fn allows(&mut self, operation: Operation, name: &[u8]) -> bool {
        self.check(operation, name, None)
    }

    /// As [`VirtualHostPermissions::allows_topic`], by the permissions of now.
    #[inline]
    pub fn allows_topic(&mut self, operation: Operation, exchange: &[u8], key: &[u8]) -> bool {
        self.check(operation, exchange, Some(key))
    }

    #[inline]
    fn check(&mut self, operation: Operation, name: &[u8], key: Option<&[u8]>) -> bool {
        if self.generation == self.identity.generation()
            && let Some(answer) = self.answers.get(usize::from(self.last[place(operation, key)]))
            && answer.is_for(operation, name, key)
        {
            return answer.is_allowed;
        }
        self.check_slowly(operation, name, key)
    }

    #[cold]
    fn check_slowly(&mut self, operation: Operation, name: &[u8], key: Option<&[u8]>) -> bool {
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
