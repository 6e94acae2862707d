//! Progress: the end of each call, which serves touched queues and dead letters; and the operations that later calls go on with.

use super::deaths::expire_fronts;
use super::dispatch::dispatch_touched;
use super::leases;
use super::leave::{delete_queue, go_on_closing, go_on_deleting, go_on_leaving};
use super::letters::write_letters;
use super::paging::write_pages;
use super::publish::go_on_publishing;
use super::settle::{settle_some_held, settle_through};
use crate::queue::QueueId;
use crate::vhost::chores::Chore;
use crate::vhost::credit::touch;
use crate::vhost::declare::drop_messages;
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::{ConnectionId, HostOutbox};

/// Ends a call: touched queues are dispatched, then dead letters find their queues.
#[inline]
pub(in crate::vhost) fn finish<O: HostOutbox>(turn: &mut Turn<'_, O>) {
    if turn.parts.chores.have_readers() {
        wake_readers(turn);
    }
    while !turn.parts.touched.is_empty() || !turn.parts.letters.is_empty() {
        dispatch_touched(turn);
        if !write_letters(turn) || turn.parts.steps.are_spent() {
            break;
        }
    }
}

/// Wakes the connections whose queues have their first messages in memory now, or are gone.
#[cold]
fn wake_readers<O: HostOutbox>(turn: &mut Turn<'_, O>) {
    let Parts { chores, queues, .. } = &mut *turn.parts;
    let is_awaited = |id| queues.try_get(id).is_some_and(|queue| queue.is_front_awaited());
    chores.take_readers(|id| !is_awaited(id)).into_iter().for_each(|reader| end_chore(turn, reader));
}

/// Time has passed: messages and queues expire, and dead letters that were left go on.
pub(in crate::vhost) fn handle_timeout<O: HostOutbox>(turn: &mut Turn<'_, O>) {
    let are_chores_first = std::mem::replace(&mut turn.parts.are_chores_first, false);
    if are_chores_first {
        go_on_with_chores(turn);
    }
    leases::overrun(turn.parts, turn.now);
    // Letters are written first, so that their number stays within the output of one call.
    write_letters(turn);
    while !turn.parts.steps.are_spent()
        && let Some(id) = turn.parts.timers.pop_message_expiry(turn.now)
    {
        turn.parts.steps.charge(1);
        touch(turn.parts, id);
        if !expire_fronts(turn, id) {
            break;
        }
    }
    while !turn.parts.steps.are_spent()
        && let Some(id) = turn.parts.timers.pop_queue_expiry(turn.now)
    {
        turn.parts.steps.charge(1);
        expire_queue(turn, id);
    }
    if !are_chores_first {
        go_on_with_chores(turn);
        // Timers that are due at once must not delay the chores.
        turn.parts.are_chores_first = turn.parts.steps.are_spent();
    }
}

fn expire_queue<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    let queue = turn.parts.queues.get(id);
    let Some(expires_ms) = queue.settings.expires_ms else { return };
    // The removal of the last consumer sets the timer again.
    if queue.consumers.is_empty() && queue.used_at.saturating_add(expires_ms) <= turn.now {
        delete_queue(turn, id, None);
    }
}

/// Continues an operation. Returns true if it is done.
fn work<O: HostOutbox>(turn: &mut Turn<'_, O>, chore: &mut Chore) -> bool {
    match chore {
        Chore::Settle { channel, last, settlement } => {
            settle_through(turn.parts, *channel, *last, *settlement)
        }
        Chore::SettleHeld { channel, count, settlement } => {
            settle_some_held(turn.parts, *channel, count, *settlement)
        }
        Chore::CloseChannel(channel) => go_on_closing(turn, *channel),
        Chore::CloseConnection(connection) => go_on_leaving(turn, *connection),
        Chore::DeleteQueue(queue) => {
            let Some(dropped) = go_on_deleting(turn, *queue) else { return false };
            *chore = Chore::Drop(dropped);
            work(turn, chore)
        }
        Chore::Drop(dropped) => drop_messages(turn.parts, dropped),
        Chore::DeleteExchanges => turn.parts.exchanges.topology.remove_going(&mut turn.parts.steps),
        Chore::Publish(publishing) => go_on_publishing(turn, publishing),
        Chore::WritePages(position) => write_pages(turn, position),
    }
}

/// Continues each chore in turn, as far as there are steps.
fn go_on_with_chores<O: HostOutbox>(turn: &mut Turn<'_, O>) {
    for _ in 0..turn.parts.chores.count() {
        if turn.parts.steps.are_spent() {
            return;
        }
        let Some((owner, mut chore)) = turn.parts.chores.pop() else { break };
        if work(turn, &mut chore) {
            owner.into_iter().for_each(|owner| end_chore(turn, owner));
        } else {
            turn.parts.chores.push(owner, chore);
        }
    }
    turn.parts.exchanges.topology.remove_going(&mut turn.parts.steps);
}

fn end_chore<O: HostOutbox>(turn: &mut Turn<'_, O>, owner: ConnectionId) {
    let connection = turn.parts.channels.connection_mut(owner);
    connection.chore_count -= 1;
    if connection.chore_count == 0 {
        turn.outbox.wake(owner);
    }
}
