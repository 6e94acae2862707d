//! Deaths: messages expire, are too many, or are rejected, and dead letters find their way.

use hairstreak_base::Bytes;
use hairstreak_wire::amqp::Properties;

use super::context::Turn;
use super::dispatch::end_publish;
use crate::exchange::Routing;
use crate::message::{Attributes, BodyView, Message};
use crate::queue::{DeadLetterTarget, Death, QueueId, Reason, add_death, extra_keys, is_cycle};
use crate::vhost::HostOutbox;
use crate::vhost::letters::Letter;

/// Messages that one queue drops in one turn because it is too long.
const DROPPED_MAX: usize = 1_024;

impl<O: HostOutbox> Turn<'_, O> {
    /// Drops expired messages at the front of a queue. Returns whether none is left; the others follow at once.
    pub(super) fn expire_fronts(&mut self, id: QueueId) -> bool {
        while let Some(front) = self.parts.queues.get(id).ready.expired_front(self.now) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.parts.remove_front(id, &front);
            self.parts.queues.get_mut(id).counts.gone += 1;
            self.parts.bury(id, front.message, Reason::Expired);
        }
        let next_expiry = self.parts.queues.get(id).ready.next_expiry();
        self.parts.timers.set_message_expiry(id, next_expiry);
        next_expiry > self.now
    }

    /// Drops the oldest messages of a queue that is too long. If these are very many, the rest follows at once.
    pub(super) fn shorten(&mut self, id: QueueId) {
        let mut count = 0;
        while self.parts.queues.get(id).has_to_shorten() {
            let Some(front) = self.parts.queues.get(id).ready.front().copied() else { break };
            if count == DROPPED_MAX {
                self.parts.timers.set_message_expiry(id, self.now);
                break;
            }
            count += 1;
            self.parts.remove_front(id, &front);
            self.parts.queues.get_mut(id).counts.gone += 1;
            self.parts.bury(id, front.message, Reason::MaxLength);
        }
    }

    /// Publishes dead letters. Returns whether none is left.
    #[cold]
    pub(super) fn write_letters(&mut self) -> bool {
        while self.budget > 0 {
            let Some(letter) = self.parts.letters.pop() else { return true };
            self.budget -= 1;
            self.write_letter(&letter);
        }
        self.parts.letters.is_empty()
    }

    /// Publishes a dead letter, and gives the letter's reference to the message back.
    pub(super) fn write_letter(&mut self, letter: &Letter) {
        if let Some(target) = self.parts.queues.get(letter.queue).settings.dead_letter.clone() {
            let mut targets = Vec::new();
            let mut properties = std::mem::take(&mut self.parts.letters.properties);
            properties.clear();
            self.address_letter(letter, &target, &mut targets, &mut properties);
            self.send_letter(letter, &target, &targets, &properties);
            self.parts.letters.properties = properties;
        }
        self.parts.store.release(letter.message);
    }

    /// Finds the queues of a dead letter and encodes its properties. An exchange that does not exist has no queues.
    fn address_letter(
        &mut self,
        letter: &Letter,
        target: &DeadLetterTarget,
        targets: &mut Vec<QueueId>,
        encoded: &mut Vec<u8>,
    ) {
        let parts = &mut *self.parts;
        let view = parts.store.view(letter.message);
        // Stored properties were decoded when the message was published.
        let Ok(mut properties) = Properties::decode(view.properties) else { return };
        let death = Death {
            queue: &parts.queues.get(letter.queue).declaration.name,
            reason: letter.reason,
            exchange: view.exchange,
            routing_key: view.routing_key,
            time: self.now / 1_000,
        };
        add_death(&mut properties, &death, target.routing_key.is_some());
        let headers = properties.headers.as_ref();
        let extra_keys: Vec<&[u8]> = headers.into_iter().flat_map(extra_keys).collect();
        let routing = Routing {
            exchange: &target.exchange,
            key: target.routing_key.as_deref().unwrap_or(view.routing_key),
            headers,
            extra_keys: &extra_keys,
            ..Routing::default()
        };
        let queues = &parts.queues;
        if parts.exchanges.route_internally(&routing, &|queue| queues.get(queue).load(), targets).is_err() {
            targets.clear();
        }
        if letter.reason != Reason::Rejected
            && let Some(headers) = headers
        {
            targets.retain(|target| !is_cycle(headers, &queues.get(*target).declaration.name));
        }
        properties.encode(encoded);
    }

    fn send_letter(
        &mut self,
        letter: &Letter,
        target: &DeadLetterTarget,
        targets: &[QueueId],
        properties: &[u8],
    ) {
        if targets.is_empty() {
            return;
        }
        let store = &self.parts.store;
        let view = store.view(letter.message);
        let routing_key = target.routing_key.as_deref().unwrap_or(view.routing_key).to_vec();
        let attributes = Attributes {
            is_persistent: store.is_persistent(letter.message),
            priority: store.priority(letter.message),
            expiration_ms: None,
        };
        let mut copied = std::mem::take(&mut self.parts.letters.body);
        copied.clear();
        let shared: Option<Bytes> = match view.body {
            BodyView::Copied(body) => {
                copied.extend_from_slice(body);
                None
            }
            BodyView::Shared(body) => Some(body.clone()),
        };
        let message = Message {
            exchange: &target.exchange,
            routing_key: &routing_key,
            properties,
            attributes,
            body: shared.as_ref().map_or(BodyView::Copied(&copied), BodyView::Shared),
        };
        let mut stored = None;
        for target in targets {
            self.parts.queues.get_mut(*target).counts.letters += 1;
            self.enqueue(*target, &message, &mut stored);
        }
        end_publish(&mut self.parts.store, stored);
        self.parts.letters.body = copied;
    }

    /// Time has passed: messages and queues expire, and dead letters that were left go on.
    pub(in crate::vhost) fn handle_timeout(&mut self) {
        // Letters go first, so that no more of them wait than one call leaves.
        self.write_letters();
        while let Some(id) = self.parts.timers.pop_message_expiry(self.now) {
            self.parts.touch(id);
            if !self.expire_fronts(id) {
                break;
            }
        }
        while let Some(id) = self.parts.timers.pop_queue_expiry(self.now) {
            self.expire_queue(id);
        }
        self.finish();
    }

    fn expire_queue(&mut self, id: QueueId) {
        let queue = self.parts.queues.get(id);
        let Some(expires_ms) = queue.settings.expires_ms else { return };
        // The last consumer that goes sets the timer again.
        if queue.consumers.is_empty() && queue.used_at.saturating_add(expires_ms) <= self.now {
            self.delete_queue(id);
        }
    }
}
