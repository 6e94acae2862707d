//! `Mailbox`: what a loop is handed by the other loops and by other threads; and `Post`: what a loop hands out.
//!
//! A loop gathers letters for each other loop during its turn and puts them into the other's mailbox together: one lock
//! for a batch. The owner takes all that is there at once. Whether the owner sleeps is kept under the same lock, so
//! that no letter is left lying and a loop that is awake is never woken.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::listening::Listening;
use super::loops::Shared;
use super::protocol::Protocol;
use crate::poller::Poller;
use crate::stream::Stream;

/// What a loop is handed.
pub(super) enum Letter<P: Protocol> {
    /// Mail for a connection.
    Mail { index: u32, serial: u32, mail: P::Mail },
    /// A connection to own.
    Adopt { stream: Stream, protocol: Box<P> },
    /// A listener to accept from.
    Listen(Listening<P>),
    /// Every connection is to end.
    Stop,
}

/// A loop's mailbox, and how to wake its owner.
pub(super) struct Mailbox<P: Protocol> {
    pub poller: Poller,
    inside: Mutex<Inside<P>>,
}

struct Inside<P: Protocol> {
    letters: Vec<Letter<P>>,
    /// The owner sleeps, or is about to, and has seen no letter.
    sleeps: bool,
}

impl<P: Protocol> Mailbox<P> {
    pub fn new(poller: Poller) -> Mailbox<P> {
        Mailbox { poller, inside: Mutex::new(Inside { letters: Vec::new(), sleeps: false }) }
    }

    fn inside(&self) -> MutexGuard<'_, Inside<P>> {
        // A panic under the lock cannot leave half a letter.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts letters in, in order, and leaves `letters` empty.
    pub fn put(&self, letters: &mut Vec<Letter<P>>) {
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
    pub fn take(&self, letters: &mut Vec<Letter<P>>) {
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

/// Letters on their way out of one loop.
pub(super) struct Post<P: Protocol> {
    shared: Arc<Shared<P>>,
    loop_index: usize,
    /// Letters for this loop's own connections.
    pub own: VecDeque<Letter<P>>,
    /// Letters for the other loops, by loop.
    others: Vec<Vec<Letter<P>>>,
    /// Something is in `others`.
    has_others: bool,
}

impl<P: Protocol> Post<P> {
    pub fn new(shared: Arc<Shared<P>>, loop_index: usize) -> Post<P> {
        let others = (0..shared.loop_count()).map(|_| Vec::new()).collect();
        Post { shared, loop_index, own: VecDeque::new(), others, has_others: false }
    }

    pub fn shared(&self) -> &Arc<Shared<P>> {
        &self.shared
    }

    #[inline]
    pub fn put(&mut self, loop_index: usize, letter: Letter<P>) {
        if loop_index == self.loop_index {
            self.own.push_back(letter);
        } else {
            self.has_others = true;
            self.others[loop_index].push(letter);
        }
    }

    /// Posts what has gathered for the other loops.
    pub fn send(&mut self) {
        if !std::mem::take(&mut self.has_others) {
            return;
        }
        for (loop_index, letters) in self.others.iter_mut().enumerate() {
            if !letters.is_empty() {
                self.shared.mailbox(loop_index).put(letters);
            }
        }
    }
}
