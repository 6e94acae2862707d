//! `Rotation`: the consumers of a queue that can take messages, in turns.
//!
//! A consumer without credit is not in the rotation, so that it costs nothing until it has credit again.

use std::collections::VecDeque;

use crate::vhost::ConsumerId;

/// Consumers that can take messages: higher priorities first, strictly in turn among equals.
#[derive(Debug, Default)]
pub(crate) struct Rotation {
    /// Priorities with their consumers, the highest first.
    levels: Vec<(i64, VecDeque<ConsumerId>)>,
}

impl Rotation {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Returns the consumer whose turn is next.
    #[inline]
    pub(crate) fn first(&self) -> Option<ConsumerId> {
        self.levels.first()?.1.front().copied()
    }

    /// The first consumer has had its turn.
    #[inline]
    pub(crate) fn turn(&mut self) {
        if let Some((_, consumers)) = self.levels.first_mut()
            && consumers.len() > 1
        {
            consumers.rotate_left(1);
        }
    }

    /// Takes the first consumer out.
    pub(crate) fn remove_first(&mut self) {
        if let Some((_, consumers)) = self.levels.first_mut() {
            consumers.pop_front();
            if consumers.is_empty() {
                self.levels.remove(0);
            }
        }
    }

    /// Puts a consumer behind its equals.
    pub(crate) fn add(&mut self, consumer: ConsumerId, priority: i64) {
        match self.levels.binary_search_by(|(other, _)| priority.cmp(other)) {
            Ok(level) => self.levels[level].1.push_back(consumer),
            Err(level) => self.levels.insert(level, (priority, VecDeque::from([consumer]))),
        }
    }

    /// Takes a consumer out, wherever it is.
    pub(crate) fn remove(&mut self, consumer: ConsumerId, priority: i64) {
        if let Ok(level) = self.levels.binary_search_by(|(other, _)| priority.cmp(other)) {
            self.levels[level].1.retain(|other| *other != consumer);
            if self.levels[level].1.is_empty() {
                self.levels.remove(level);
            }
        }
    }
}
