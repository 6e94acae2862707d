//! Changes of policies, which act on queues and exchanges slice by slice.
//!
//! ```text
//!   change_policies   new queues and exchanges get the new policies
//!   policy_slice      copies names that were not matched with the policies
//!   match_names       without the host
//!   apply_policies    existing objects change; again until the slice is done
//! ```
//!
//! Each queue and exchange stores the generation of the policies that apply to it. If several changes come at once, the first
//! change brings an object to the newest generation.

use std::sync::Arc;

use super::deaths::shorten;
use super::letters::write_letters;
use crate::policy::{Applied, Object, ObjectKind, PolicyCursor, PolicySlice};
use crate::queue::QueueId;
use crate::vhost::HostOutbox;
use crate::vhost::credit::touch;
use crate::vhost::parts::{Parts, Turn};

/// Number of positions in one slice.
pub(in crate::vhost) const POLICY_SLICE_MAX: usize = 256;

/// Copies the names of objects that other policies may apply to, from a position on.
pub(in crate::vhost) fn slice(parts: &Parts, from: PolicyCursor) -> PolicySlice {
    let policies = Arc::clone(&parts.exchanges.policies);
    let is_behind = |applied: &Applied| applied.generation() < policies.generation();
    let mut objects = Vec::new();
    let next = if from.has_done_exchanges {
        let position = parts.queues.visit(from.position, POLICY_SLICE_MAX, |_, queue| {
            if is_behind(&queue.policies) {
                let (name, kind) = (queue.declaration.name.clone(), ObjectKind::Queue(queue.kind));
                objects.push(Object { name, kind, applied: queue.policies.clone() });
            }
        });
        position.map(|position| PolicyCursor { position, ..from })
    } else {
        let position = parts.exchanges.visit_policies(from.position, POLICY_SLICE_MAX, |name, applied| {
            if is_behind(applied) {
                let (name, kind) = (name.into(), ObjectKind::Exchange);
                objects.push(Object { name, kind, applied: applied.clone() });
            }
        });
        let queues = PolicyCursor { has_done_exchanges: true, position: 0 };
        Some(position.map_or(queues, |position| PolicyCursor { position, ..from }))
    };
    PolicySlice::new(policies, objects, next)
}

/// Applies matched policies, as far as the budget allows. Returns true if the slice is done. All objects of the slice change
/// before messages beyond a new length are dropped: dead letters find the queues in their new state.
pub(in crate::vhost) fn apply<O: HostOutbox>(turn: &mut Turn<'_, O>, slice: &mut PolicySlice) -> bool {
    let mut left = turn.budget;
    while left > 0
        && let Some(object) = slice.objects.get(slice.changed_count)
        && change_object(turn, object)
    {
        left -= 1;
        slice.changed_count += 1;
    }
    while left > 0
        && slice.changed_count == slice.objects.len()
        && let Some(object) = slice.objects.get(slice.done_count)
    {
        left -= 1;
        if !shorten_object(turn, object, &mut left) {
            break;
        }
        slice.done_count += 1;
    }
    slice.is_done()
}

/// Applies policies to an object, unless the object already has newer policies: by its declaration, or by another change. Returns
/// false if the work needs another turn.
fn change_object<O: HostOutbox>(turn: &mut Turn<'_, O>, object: &Object) -> bool {
    let Object { name, kind, applied } = object;
    match (kind, turn.parts.queues.find(name)) {
        (ObjectKind::Exchange, _) => {
            turn.parts.exchanges.apply_policies(name, applied);
            true
        }
        (ObjectKind::Queue(_), Some(id)) => {
            let is_newer = turn.parts.queues.get(id).policies.generation() >= applied.generation();
            is_newer || change_policies(turn, id, applied)
        }
        (ObjectKind::Queue(_), None) => true,
    }
}

/// Drops the messages of a queue that are beyond its length. Returns false if that needs another turn.
fn shorten_object<O: HostOutbox>(turn: &mut Turn<'_, O>, object: &Object, left: &mut usize) -> bool {
    let ObjectKind::Queue(_) = object.kind else { return true };
    let Some(id) = turn.parts.queues.find(&object.name) else { return true };
    if !turn.parts.queues.get(id).has_to_shorten() {
        return true;
    }
    let before = turn.parts.queues.get(id).ready.count();
    shorten(turn, id);
    *left = left.saturating_sub(before - turn.parts.queues.get(id).ready.count());
    touch(turn.parts, id);
    let queue = turn.parts.queues.get(id);
    // Messages on disk are dropped once they are read.
    !queue.has_to_shorten() || queue.ready.is_front_on_disk()
}

/// Other policies apply to a queue. Returns false if dead letters have to go first.
fn change_policies<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId, applied: &Applied) -> bool {
    let queue = turn.parts.queues.get_mut(id);
    if applied.is_same(&queue.policies) {
        queue.policies = applied.clone();
        return true;
    }
    let settings = queue.settings_with(applied);
    let sends_elsewhere = queue.settings.dead_letter != settings.dead_letter;
    let has_other_expiry = queue.settings.expires_ms != settings.expires_ms;
    // Messages that are dead already go where they had to go when they died.
    if sends_elsewhere && !write_letters(turn) {
        return false;
    }
    turn.parts.queues.get_mut(id).set_policies(applied.clone(), settings);
    if has_other_expiry {
        turn.parts.timers.cancel_queue_expiry(id);
        turn.parts.note_use(id, turn.now);
    }
    true
}
