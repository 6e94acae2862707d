//! `Letters`: dead messages that wait for the dead letter exchanges of their queues.

use std::collections::VecDeque;

use super::publishing::Publishing;
use crate::queue::{Entry, QueueId, Reason};

/// A dead message. Holds a reference to the message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    /// The message in its queue.
    pub(super) entry: Entry,
    pub(super) queue: QueueId,
    pub(super) reason: Reason,
}

/// Waiting dead messages, and the buffers to rewrite them.
#[derive(Debug, Default)]
pub(super) struct Letters {
    letters: VecDeque<Letter>,
    /// The rest of the first letter, if it has begun.
    first: Option<Box<Publishing>>,
    /// Properties of the letter that is written.
    pub(super) properties: Vec<u8>,
    /// The body of the letter that is written.
    pub(super) body: Vec<u8>,
}

impl Letters {
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    pub(super) fn push(&mut self, letter: Letter) {
        self.letters.push_back(letter);
    }

    /// Takes the first letter, and the rest of its way if the letter has begun.
    pub(super) fn pop(&mut self) -> Option<(Letter, Option<Box<Publishing>>)> {
        Some((self.letters.pop_front()?, self.first.take()))
    }

    /// Puts the first letter back, to continue in a later call.
    pub(super) fn put_back(&mut self, letter: Letter, rest: Option<Box<Publishing>>) {
        self.letters.push_front(letter);
        self.first = rest;
    }
}
