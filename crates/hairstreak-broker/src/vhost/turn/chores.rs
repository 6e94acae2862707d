//! Chores: operations that go on in later calls until they are done.

use super::context::Turn;
use super::leave::{go_on_closing, go_on_deleting, go_on_leaving};
use super::publish::go_on_publishing;
use super::settle::{settle_some_held, settle_through};
use crate::vhost::chores::Chore;
use crate::vhost::declare::drop_messages;
use crate::vhost::{ConnectionId, HostOutbox};

impl<O: HostOutbox> Turn<'_, O> {
    /// Does as much of an operation as there are steps for. The rest is a chore, for which `owner` has to wait.
    pub(super) fn start(&mut self, owner: Option<ConnectionId>, mut chore: Chore) {
        if !work(self, &mut chore) {
            self.parts.put_off(owner, chore);
        }
    }
}

/// Goes on with an operation. Returns whether it is done.
fn work<O: HostOutbox>(turn: &mut Turn<'_, O>, chore: &mut Chore) -> bool {
    match chore {
        Chore::Settle { channel, last, settlement } => settle_through(turn, *channel, *last, *settlement),
        Chore::SettleHeld { channel, count, settlement } => {
            settle_some_held(turn, *channel, count, *settlement)
        }
        Chore::CloseChannel(channel) => go_on_closing(turn, *channel),
        Chore::CloseConnection(connection) => go_on_leaving(turn, *connection),
        Chore::DeleteQueue(queue) => {
            let Some(ready) = go_on_deleting(turn, *queue) else { return false };
            *chore = Chore::Drop(ready);
            work(turn, chore)
        }
        Chore::Drop(ready) => drop_messages(turn.parts, ready),
        Chore::DeleteExchanges => turn.parts.exchanges.remove_going(&mut turn.parts.steps),
        Chore::Publish(publishing) => go_on_publishing(turn, publishing),
    }
}

/// Goes on with each chore in turn, as far as there are steps.
pub(super) fn go_on_with_chores<O: HostOutbox>(turn: &mut Turn<'_, O>) {
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
    turn.parts.exchanges.remove_going(&mut turn.parts.steps);
}

fn end_chore<O: HostOutbox>(turn: &mut Turn<'_, O>, owner: ConnectionId) {
    let connection = turn.parts.channels.connection_mut(owner);
    connection.chore_count -= 1;
    if connection.chore_count == 0 {
        turn.outbox.wake(owner);
    }
}
