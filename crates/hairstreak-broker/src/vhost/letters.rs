//! `Letters`: dead messages on their way to the dead letter exchanges of their queues.

use std::collections::VecDeque;

use crate::message::MessageId;
use crate::queue::{QueueId, Reason};

/// A dead message. Holds a reference to the message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    pub(super) message: MessageId,
    pub(super) queue: QueueId,
    pub(super) reason: Reason,
}

/// Dead messages on their way, and the buffers to write them again.
#[derive(Debug, Default)]
pub(super) struct Letters {
    letters: VecDeque<Letter>,
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

    pub(super) fn pop(&mut self) -> Option<Letter> {
        self.letters.pop_front()
    }

    /// Takes all letters of that queue out, in order.
    pub(super) fn take_of(&mut self, queue: QueueId) -> VecDeque<Letter> {
        let (taken, left) =
            std::mem::take(&mut self.letters).into_iter().partition(|letter| letter.queue == queue);
        self.letters = left;
        taken
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Letter> {
        self.letters.iter()
    }
}
