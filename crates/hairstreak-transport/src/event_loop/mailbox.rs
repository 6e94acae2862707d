//! `Mailbox`: letters of other loops and other threads for a loop.
//!
//! A loop gathers letters for each other loop during its turn and puts them into the other's mailbox together: one lock
//! for a batch. The owner takes all that is there at once. Whether the owner sleeps is kept under the same lock, so
//! that no letter is left lying and a loop that is awake is never woken.
//!
//! - `Address`: the loop and the index of a connection.
//! - `Letter`: mail, or an order to the loop.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::listening::Listening;
use crate::poller::Poller;
use crate::stream::Stream;

/// A loop's mailbox of letters `L`, and the handle that wakes its owner.
pub(super) struct Mailbox<L> {
    pub poller: Poller,
    inside: Mutex<Inside<L>>,
}

struct Inside<L> {
    letters: Vec<L>,
    /// The owner sleeps, or is about to, and has seen no letter.
    sleeps: bool,
}

impl<L> Mailbox<L> {
    pub fn new(poller: Poller) -> Mailbox<L> {
        Mailbox { poller, inside: Mutex::new(Inside { letters: Vec::new(), sleeps: false }) }
    }

    fn inside(&self) -> MutexGuard<'_, Inside<L>> {
        // A panic under the lock cannot leave half a letter.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts letters in, in order, and leaves `letters` empty.
    pub fn put(&self, letters: &mut Vec<L>) {
        let mut inside = self.inside();
        if inside.letters.is_empty() {
            std::mem::swap(&mut inside.letters, letters);
        } else {
            inside.letters.append(letters);
        }
        let sleeps = std::mem::take(&mut inside.sleeps);
        drop(inside);
        if sleeps {
            self.poller.wake();
        }
    }

    /// Takes all letters. `letters` is empty, and its memory is used for those to come.
    pub fn take(&self, letters: &mut Vec<L>) {
        let mut inside = self.inside();
        inside.sleeps = false;
        std::mem::swap(&mut inside.letters, letters);
    }

    /// The owner is about to sleep. Returns false if there are letters.
    pub fn may_sleep(&self) -> bool {
        let mut inside = self.inside();
        inside.sleeps = inside.letters.is_empty();
        inside.sleeps
    }
}

/// A connection of some loop. An address stays valid for as long as its connection lives; mail to a connection that
/// has ended is dropped. The default is the first connection of the first loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Address {
    pub(super) loop_index: u32,
    pub(super) index: u32,
    /// Distinguishes the connection from later connections with the same index.
    pub(super) serial: u32,
}

impl Address {
    /// The loop that owns the connection, counted from 0.
    pub fn loop_index(self) -> usize {
        self.loop_index as usize
    }
}

/// A letter. `P` is the type of the protocols, `M` the type of their mail.
pub(super) enum Letter<P, M> {
    /// Mail for a connection.
    Mail { to: Address, mail: M },
    /// Held output of a connection may leave.
    Release { to: Address, ticket: u64 },
    /// A connection to own.
    Adopt { stream: Stream, protocol: Box<P> },
    /// A listener to accept from.
    Listen(Listening<P>),
    /// End every connection.
    Stop,
}
