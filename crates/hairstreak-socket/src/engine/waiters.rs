//! Tasks, and pollers, that wait for news of a socket: their wakers lie with the socket until there is some.
//!
//! All are woken, but of the futures that take one message each only as many as there are messages: news of messages
//! wakes the one that has waited longest, and whoever was woken wakes the next when it ends, with a message or without
//! (cancelled, perhaps, before it could look). One that looks in vain waits again, and nobody else would have found any.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use super::state::{After, SocketState, State};
use super::wait::Engine;

/// Those who wait for a socket, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// Futures that take a message.
    takers: BTreeMap<u64, Waker>,
    /// The others, and whether they will take messages when they are woken.
    others: BTreeMap<u64, (Waker, bool)>,
    /// The turn in which one that takes messages was woken last.
    woken_at: u64,
}

/// What a waiter waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// One message, which it takes.
    Message,
    /// Messages, among others. As with [`Wish::Message`], what comes is left where it is.
    Messages,
    /// Anything but messages. They are read ahead: two peers that both wait for room must not wait for each other.
    Room,
}

/// A waiter's place, number and wish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub socket: usize,
    pub number: u64,
    pub wish: Wish,
}

impl Waiters {
    pub fn is_empty(&self) -> bool {
        self.takers.is_empty() && self.others.is_empty()
    }

    /// Keeps the waker. Returns the one that it replaces.
    fn add(&mut self, wait: Wait, waker: &Waker) -> Option<Waker> {
        let known = match wait.wish {
            Wish::Message => self.takers.get_mut(&wait.number),
            wish => self.others.get_mut(&wait.number).map(|(known, receives)| {
                *receives = wish == Wish::Messages;
                known
            }),
        };
        match known {
            Some(known) if known.will_wake(waker) => None,
            Some(known) => Some(std::mem::replace(known, waker.clone())),
            None if wait.wish == Wish::Message => self.takers.insert(wait.number, waker.clone()),
            None => {
                self.others.insert(wait.number, (waker.clone(), wait.wish == Wish::Messages));
                None
            }
        }
    }

    fn remove(&mut self, wait: Wait) -> Option<Waker> {
        match wait.wish {
            Wish::Message => self.takers.remove(&wait.number),
            _ => self.others.remove(&wait.number).map(|(waker, _)| waker),
        }
    }
}

impl State {
    /// A number for a waiter, used for no other of this engine.
    pub fn new_waiter(&mut self) -> u64 {
        self.next_waiter += 1;
        self.next_waiter
    }

    /// Keeps the waker until there is news of the socket. Whoever calls sees to it that the engine is driven.
    pub fn add_waiter(&mut self, wait: Wait, waker: &Waker) {
        let Some(state) = self.sockets.get_mut(wait.socket) else { return };
        self.after.extend(state.waiters.add(wait, waker).map(After::Forget));
    }

    /// A task waits for news of the socket: its waker is kept, and the engine watched, until there is some.
    pub fn await_news(&mut self, engine: &Arc<Engine>, wait: Wait, waker: &Waker) {
        self.add_waiter(wait, waker);
        self.leave_to_others(engine);
    }

    /// Somebody waits who does not drive the engine: the background thread does, unless another does already.
    pub fn leave_to_others(&mut self, engine: &Arc<Engine>) {
        self.read_again(engine);
        self.flush_dirty(engine, true);
        if self.leader {
            return;
        }
        self.watch(engine);
        self.expect_rings(engine);
    }

    /// The waiter has what it waited for. What brought that may have brought more than it takes.
    pub fn end_waiter(&mut self, wait: Wait) {
        let Some(state) = self.sockets.get_mut(wait.socket) else { return };
        let waker = state.waiters.remove(wait);
        self.after.extend(waker.map(After::Forget));
        if wait.wish == Wish::Message {
            self.wake_taker(wait.socket);
        }
    }

    /// The waiter is gone without it. If it was woken, what it was woken for may still be there.
    pub fn forget_waiter(&mut self, wait: Wait) {
        let Some(state) = self.sockets.get_mut(wait.socket) else { return };
        match state.waiters.remove(wait) {
            Some(waker) => self.after.push(After::Forget(waker)),
            None if wait.wish == Wish::Message => self.wake_taker(wait.socket),
            None => {}
        }
    }

    /// Has all who wait for the socket woken.
    pub fn wake_waiters(&mut self, socket: usize) {
        self.wake_others(socket);
        if let Some(socket) = self.sockets.get_mut(socket) {
            while let Some((_, waker)) = socket.waiters.takers.pop_first() {
                self.after.push(After::Wake(waker));
            }
        }
    }

    /// Has all who wait for the socket woken, but of those who take one message only one.
    pub fn wake_for_messages(&mut self, socket: usize) {
        self.wake_others(socket);
        self.wake_taker(socket);
    }

    fn wake_others(&mut self, socket: usize) {
        let Some(socket) = self.sockets.get_mut(socket) else { return };
        while let Some((_, (waker, receives))) = socket.waiters.others.pop_first() {
            if receives {
                socket.waiters.woken_at = self.turns;
            }
            self.after.push(After::Wake(waker));
        }
    }

    fn wake_taker(&mut self, socket: usize) {
        let Some(socket) = self.sockets.get_mut(socket) else { return };
        if let Some((_, waker)) = socket.waiters.takers.pop_first() {
            socket.waiters.woken_at = self.turns;
            self.after.push(After::Wake(waker));
        }
    }

    /// Whether somebody who waits for the socket, or was woken by another event of those that are handled, will take its
    /// messages.
    pub fn is_received_from(&self, socket: usize) -> bool {
        let Some(SocketState { waiters, .. }) = self.sockets.get(socket) else { return false };
        let is_woken = self.handles_events && waiters.woken_at == self.turns;
        is_woken || !waiters.takers.is_empty() || waiters.others.values().any(|(_, receives)| *receives)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Context, Interest, Poller, Pull, Push};

    const LONG: Duration = Duration::from_secs(60);
    const PEERS: usize = 8;
    const ROUNDS: usize = 50;

    /// Of several peers of which one turn tells, the first wakes the poller. What the others bring is not read ahead, message by
    /// message, but left for the receives that follow.
    #[test]
    fn a_poller_leaves_what_comes_of_every_peer_where_it_is() {
        let pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind("tcp://127.0.0.1:*").unwrap().to_string();
        let peers = Vec::from_iter((0..PEERS).map(|_| {
            let push = Push::new(&Context::new()).unwrap();
            push.connect(&place).unwrap();
            assert!(push.wait_for_peers(1, LONG));
            push
        }));
        assert!(pull.wait_for_peers(PEERS, LONG));
        let mut poller = Poller::new().unwrap();
        poller.add(&pull, 0, Interest::READABLE).unwrap();
        let (mut ready, mut rounds_left_alone) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            for push in &peers {
                push.send("news").unwrap();
                push.flush();
            }
            poller.wait_timeout(&mut ready, LONG).unwrap();
            let mut state = pull.handle.engine.lock();
            let links = state.sockets[pull.handle.index].links.clone();
            let read_ahead = links.iter().any(|&index| state.links[index].session_mut().unwrap().has_ahead());
            // The background thread may have looked in between, when nobody waited.
            rounds_left_alone += usize::from(!read_ahead);
            drop(state);
            (0..PEERS).for_each(|_| assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"news"));
        }
        assert!(rounds_left_alone > ROUNDS / 4, "{rounds_left_alone} of {ROUNDS}");
    }
}
