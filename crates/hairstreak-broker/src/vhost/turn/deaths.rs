//! Deaths: messages expire, are too many, or are rejected, and dead letters find their way.

use hairstreak_base::Bytes;
use hairstreak_wire::amqp::Properties;

use super::chores::go_on_with_chores;
use super::context::Turn;
use super::dispatch::end_publish;
use super::publish::{go_on_publishing, publishing};
use crate::exchange::{Publisher, Routing, distinct};
use crate::message::{Attributes, BodyView, Message};
use crate::queue::{DeadLetterTarget, Death, QueueId, Reason, add_death, extra_keys, is_cycle};
use crate::vhost::HostOutbox;
use crate::vhost::letters::Letter;
use crate::vhost::publishing::Publishing;
use crate::vhost::route::Unrouted;

/// The steps of a dead letter.
const LETTER_STEPS: usize = 16;

impl<O: HostOutbox> Turn<'_, O> {
    /// Drops expired messages at the front of a queue. Returns whether none is left; the others follow at once.
    pub(super) fn expire_fronts(&mut self, id: QueueId) -> bool {
        while let Some(front) = self.parts.queues.get(id).ready.expired_front(self.now) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.parts.steps.charge(1);
            self.parts.remove_front(id, &front);
            self.parts.queues.get_mut(id).counts.gone += 1;
            self.parts.bury(id, front.message, Reason::Expired);
        }
        let next_expiry = self.parts.queues.get(id).ready.next_expiry();
        self.parts.timers.set_message_expiry(id, next_expiry);
        next_expiry > self.now
    }

    /// Drops the oldest messages of a queue that is too long, as far as there are steps. The rest goes in the next call.
    pub(super) fn shorten(&mut self, id: QueueId) {
        while self.parts.queues.get(id).has_to_shorten() {
            let Some(front) = self.parts.queues.get(id).ready.front().copied() else { break };
            if self.parts.steps.are_spent() {
                self.parts.touch(id);
                break;
            }
            self.parts.steps.charge(1);
            self.parts.remove_front(id, &front);
            self.parts.queues.get_mut(id).counts.gone += 1;
            self.parts.bury(id, front.message, Reason::MaxLength);
        }
    }

    /// Publishes dead letters. Returns whether none is left.
    #[cold]
    pub(super) fn write_letters(&mut self) -> bool {
        while self.budget > 0 && !self.parts.steps.are_spent() {
            if self.parts.letters.is_empty() {
                return true;
            }
            self.budget -= 1;
            if !self.write_next_letter() {
                return false;
            }
        }
        self.parts.letters.is_empty()
    }

    /// Publishes the first dead letter, or goes on with it. Returns false if the steps are spent before its end.
    pub(super) fn write_next_letter(&mut self) -> bool {
        let (letter, mut rest) = match self.parts.letters.pop() {
            Some(next) => next,
            None => return true,
        };
        self.parts.steps.charge(LETTER_STEPS);
        let is_written = match &mut rest {
            Some(publishing) => go_on_publishing(self, publishing),
            None => write_letter(self, &letter, &mut rest),
        };
        if !is_written {
            self.parts.letters.put_back(letter, rest);
            return false;
        }
        self.parts.queues.get_mut(letter.queue).counts.unwritten_letters -= 1;
        self.parts.store.release(letter.message);
        true
    }

    /// Finds the queues of a dead letter and encodes its properties. An exchange that does not exist has no queues.
    fn address_letter(
        &mut self,
        letter: &Letter,
        target: &DeadLetterTarget,
        targets: &mut Vec<QueueId>,
        encoded: &mut Vec<u8>,
    ) -> Option<Box<Unrouted>> {
        let parts = &mut *self.parts;
        let view = parts.store.view(letter.message);
        // Stored properties were decoded when the message was published.
        let Ok(mut properties) = Properties::decode(view.properties) else { return None };
        let death = Death {
            queue: &parts.queues.get(letter.queue).declaration.name,
            reason: letter.reason,
            exchange: view.exchange,
            routing_key: view.routing_key,
            time: self.now / 1_000,
        };
        add_death(&mut properties, &death, target.routing_key.is_some());
        let headers = properties.headers.as_ref();
        let key = target.routing_key.as_deref().unwrap_or(view.routing_key);
        let extra_keys = distinct(key, headers.into_iter().flat_map(extra_keys).collect());
        parts.steps.charge(extra_keys.len());
        let routing = Routing {
            exchange: &target.exchange,
            key,
            headers,
            extra_keys: &extra_keys,
            ..Routing::default()
        };
        let (queues, steps) = (&parts.queues, &mut parts.steps);
        let load = |queue| queues.get(queue).load();
        let routed = parts.exchanges.route_from(&routing, Publisher::Broker, &load, steps, targets);
        let unrouted = match routed {
            Ok((_, Some(_))) => None,
            Ok((_, None)) => {
                let walk = std::mem::take(&mut parts.exchanges.walk);
                Some(Box::new(Unrouted::new(walk, &routing)))
            }
            Err(_) => {
                targets.clear();
                None
            }
        };
        if letter.reason != Reason::Rejected
            && let Some(headers) = headers
        {
            targets.retain(|target| !is_cycle(headers, &queues.get(*target).declaration.name));
        }
        properties.encode(encoded);
        unrouted
    }

    /// Puts a dead letter into its queues, or into `rest` if that takes more than one call.
    fn send_letter(
        &mut self,
        letter: &Letter,
        target: &DeadLetterTarget,
        (targets, unrouted): (&[QueueId], Option<Box<Unrouted>>),
        properties: &[u8],
        rest: &mut Option<Box<Publishing>>,
    ) {
        if targets.is_empty() && unrouted.is_none() {
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
        if unrouted.is_some() || targets.len() > self.parts.steps.left() {
            let mut publishing = publishing(self, None, targets, unrouted, &message);
            publishing.reason = Some(letter.reason);
            *rest = Some(publishing);
            self.parts.letters.body = copied;
            return;
        }
        self.parts.steps.charge(targets.len());
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
        let are_chores_first = std::mem::replace(&mut self.parts.are_chores_first, false);
        if are_chores_first {
            go_on_with_chores(self);
        }
        // Letters go first, so that no more of them wait than one call leaves.
        self.write_letters();
        while !self.parts.steps.are_spent()
            && let Some(id) = self.parts.timers.pop_message_expiry(self.now)
        {
            self.parts.steps.charge(1);
            self.parts.touch(id);
            if !self.expire_fronts(id) {
                break;
            }
        }
        while !self.parts.steps.are_spent()
            && let Some(id) = self.parts.timers.pop_queue_expiry(self.now)
        {
            self.parts.steps.charge(1);
            self.expire_queue(id);
        }
        if !are_chores_first {
            go_on_with_chores(self);
            // Timers that are due at once must not keep the chores waiting.
            self.parts.are_chores_first = self.parts.steps.are_spent();
        }
        self.finish();
    }

    fn expire_queue(&mut self, id: QueueId) {
        let queue = self.parts.queues.get(id);
        let Some(expires_ms) = queue.settings.expires_ms else { return };
        // The last consumer that goes sets the timer again.
        if queue.consumers.is_empty() && queue.used_at.saturating_add(expires_ms) <= self.now {
            self.delete_queue(id, None);
        }
    }
}

/// Publishes a dead letter. `rest`: the letter, if it goes on in a later call. Returns whether it is written.
fn write_letter<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    letter: &Letter,
    rest: &mut Option<Box<Publishing>>,
) -> bool {
    let Some(target) = turn.parts.queues.get(letter.queue).settings.dead_letter.clone() else {
        return true;
    };
    let mut targets = Vec::new();
    let mut properties = std::mem::take(&mut turn.parts.letters.properties);
    properties.clear();
    let unrouted = turn.address_letter(letter, &target, &mut targets, &mut properties);
    turn.send_letter(letter, &target, (&targets, unrouted), &properties, rest);
    turn.parts.letters.properties = properties;
    rest.as_mut().is_none_or(|publishing| go_on_publishing(turn, publishing))
}
