//! Dead letters find their queues, and are published to them.

use hairstreak_base::Bytes;
use hairstreak_wire::amqp::Properties;

use super::dispatch::{append, end_publish};
use super::publish::{enqueue, go_on_publishing, publishing};
use crate::exchange::{Publisher, Routing, distinct};
use crate::message::{Attributes, BodyView, Message};
use crate::queue::{DeadLetterTarget, Death, QueueId, Reason, add_death, extra_keys, is_cycle};
use crate::vhost::letters::Letter;
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::publishing::Publishing;
use crate::vhost::route::Unrouted;
use crate::vhost::{HostOutbox, LogRun};

/// The steps of a dead letter.
const LETTER_STEPS: usize = 16;

/// Publishes dead letters. Returns whether none is left.
#[cold]
pub(super) fn write_letters<O: HostOutbox>(turn: &mut Turn<'_, O>) -> bool {
    while turn.budget > 0 && !turn.parts.steps.are_spent() {
        if turn.parts.letters.is_empty() {
            return true;
        }
        turn.budget -= 1;
        if !write_next_letter(turn) {
            return false;
        }
    }
    turn.parts.letters.is_empty()
}

/// Publishes the first dead letter, or continues with it. Returns false if the steps are spent before its end.
pub(super) fn write_next_letter<O: HostOutbox>(turn: &mut Turn<'_, O>) -> bool {
    let (letter, mut rest) = match turn.parts.letters.pop() {
        Some(next) => next,
        None => return true,
    };
    turn.parts.steps.charge(LETTER_STEPS);
    let is_written = match &mut rest {
        Some(publishing) => go_on_publishing(turn, publishing),
        None => write_letter(turn, &letter, &mut rest),
    };
    if !is_written {
        turn.parts.letters.put_back(letter, rest);
        return false;
    }
    turn.parts.queues.get_mut(letter.queue).counts.unwritten_letters -= 1;
    // Only now, behind the letter: a crash in between repeats the letter.
    turn.parts.note_gone(letter.queue, &letter.entry);
    turn.parts.store.release(letter.entry.message);
    true
}

/// Finds the queues of a dead letter and encodes its properties. An exchange that does not exist has no queues.
fn address_letter<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    letter: &Letter,
    target: &DeadLetterTarget,
    targets: &mut Vec<QueueId>,
    encoded: &mut Vec<u8>,
) -> Option<Box<Unrouted>> {
    let parts = &mut *turn.parts;
    let view = parts.store.view(letter.entry.message);
    // Stored properties were decoded when the message was published.
    let Ok(mut properties) = Properties::decode(view.properties) else { return None };
    let death = Death {
        queue: &parts.queues.get(letter.queue).declaration.name,
        reason: letter.reason,
        exchange: view.exchange,
        routing_key: view.routing_key,
        time: turn.now / 1_000,
    };
    add_death(&mut properties, &death, target.routing_key.is_some());
    let headers = properties.headers.as_ref();
    let key = target.routing_key.as_deref().unwrap_or(view.routing_key);
    let extra_keys = distinct(key, headers.into_iter().flat_map(extra_keys).collect());
    parts.steps.charge(extra_keys.len());
    let routing =
        Routing { exchange: &target.exchange, key, headers, extra_keys: &extra_keys, ..Routing::default() };
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
fn send_letter<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    letter: &Letter,
    target: &DeadLetterTarget,
    (targets, unrouted): (&[QueueId], Option<Box<Unrouted>>),
    properties: &[u8],
    rest: &mut Option<Box<Publishing>>,
) {
    if targets.is_empty() && unrouted.is_none() {
        return;
    }
    let store = &turn.parts.store;
    let view = store.view(letter.entry.message);
    let routing_key = target.routing_key.as_deref().unwrap_or(view.routing_key).to_vec();
    let attributes = Attributes {
        is_persistent: store.is_persistent(letter.entry.message),
        priority: store.priority(letter.entry.message),
        expiration_ms: None,
    };
    let mut copied = std::mem::take(&mut turn.parts.letters.body);
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
    if unrouted.is_some() || targets.len() > turn.parts.steps.left() {
        let mut publishing = publishing(turn, None, targets, unrouted, &message);
        publishing.reason = Some(letter.reason);
        *rest = Some(publishing);
        turn.parts.letters.body = copied;
        return;
    }
    turn.parts.steps.charge(targets.len());
    let mut stored = None;
    for target in targets {
        turn.parts.queues.get_mut(*target).counts.letters += 1;
        enqueue(turn, *target, &message, &mut stored);
    }
    end_publish(&mut turn.parts.store, stored);
    let moved = moved_run(turn.parts, letter);
    append(turn, &message, moved);
    turn.parts.letters.body = copied;
}

/// The dead message as the message log knows it, if the log has it.
fn moved_run(parts: &Parts, letter: &Letter) -> Option<LogRun> {
    let (queue, store) = (parts.queues.get(letter.queue), &parts.store);
    queue.has_logged(&letter.entry).then(|| LogRun {
        queue: queue.log_id(),
        first: letter.entry.sequence,
        count: 1,
        body_size: u64::from(store.body_size(letter.entry.message)),
    })
}

/// Publishes a dead letter. `rest`: the letter, if it continues in a later call. Returns true if it is written.
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
    let unrouted = address_letter(turn, letter, &target, &mut targets, &mut properties);
    send_letter(turn, letter, &target, (&targets, unrouted), &properties, rest);
    turn.parts.letters.properties = properties;
    rest.as_mut().is_none_or(|publishing| go_on_publishing(turn, publishing))
}
