//! Tasks, and pollers, that wait for news of a socket: their wakers lie with the socket until there is some.

use std::sync::Arc;
use std::task::Waker;

use super::state::{After, State};
use super::wait::Engine;

/// One of those who wait for a socket.
#[derive(Debug)]
pub(crate) struct Waiting {
    number: u64,
    waker: Waker,
    /// It will take messages when it is woken. What comes is left where it is, then; for one that waits for
    /// room only, it is read ahead: two peers that both wait for room must not wait for each other.
    receives: bool,
}

/// A waiter's place, number and wish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub socket: usize,
    pub number: u64,
    pub receives: bool,
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
        match state.wakers.iter_mut().find(|other| other.number == wait.number) {
            Some(known) => {
                known.receives = wait.receives;
                if !known.waker.will_wake(waker) {
                    let replaced = std::mem::replace(&mut known.waker, waker.clone());
                    self.after.push(After::Forget(replaced));
                }
            }
            None => {
                let (number, receives) = (wait.number, wait.receives);
                state.wakers.push(Waiting { number, waker: waker.clone(), receives });
            }
        }
    }

    /// A task waits for news of the socket: its waker is kept, and the engine watched, until there is some.
    pub fn await_news(&mut self, engine: &Arc<Engine>, wait: Wait, waker: &Waker) {
        self.add_waiter(wait, waker);
        self.leave_to_others(engine);
    }

    /// Somebody waits who does not drive the engine: the background thread does, unless another does already.
    pub fn leave_to_others(&mut self, engine: &Arc<Engine>) {
        self.relist_unread(engine);
        self.flush_dirty(engine, true);
        if self.leader {
            return;
        }
        self.watch(engine);
        self.expect_rings(engine);
    }

    /// The waiter is gone, woken or not.
    pub fn forget_waiter(&mut self, socket: usize, number: u64) {
        let Some(state) = self.sockets.get_mut(socket) else { return };
        if let Some(place) = state.wakers.iter().position(|other| other.number == number) {
            self.after.push(After::Forget(state.wakers.remove(place).waker));
        }
    }

    /// Has all who wait for the socket woken.
    pub fn wake_waiters(&mut self, socket: usize) {
        if let Some(socket) = self.sockets.get_mut(socket) {
            self.after.extend(socket.wakers.drain(..).map(|waiting| After::Wake(waiting.waker)));
        }
    }

    /// Whether somebody who waits for the socket will take its messages.
    pub fn is_received_from(&self, socket: usize) -> bool {
        let Some(state) = self.sockets.get(socket) else { return false };
        state.wakers.iter().any(|waiting| waiting.receives)
    }
}
