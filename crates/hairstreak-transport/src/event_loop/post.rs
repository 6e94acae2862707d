//! `Post`: the letters that one loop hands out during its turn.

use std::collections::VecDeque;

use super::loop_set::LoopSet;

/// Letters on their way out of one loop.
pub(super) struct Post<L> {
    loop_index: usize,
    /// Letters for this loop's own connections.
    pub own: VecDeque<L>,
    /// Letters for the other loops, by loop.
    others: Vec<Vec<L>>,
    /// Something is in `others`.
    has_others: bool,
}

impl<L> Post<L> {
    pub fn new(loop_count: usize, loop_index: usize) -> Post<L> {
        let others = (0..loop_count).map(|_| Vec::new()).collect();
        Post { loop_index, own: VecDeque::new(), others, has_others: false }
    }

    #[inline]
    pub fn put(&mut self, loop_index: usize, letter: L) {
        if loop_index == self.loop_index {
            self.own.push_back(letter);
        } else {
            self.has_others = true;
            self.others[loop_index].push(letter);
        }
    }

    /// Posts what has gathered for the other loops.
    pub fn send(&mut self, loops: &LoopSet<L>) {
        if !std::mem::take(&mut self.has_others) {
            return;
        }
        for (loop_index, letters) in self.others.iter_mut().enumerate() {
            if !letters.is_empty() {
                loops.mailbox(loop_index).put(letters);
            }
        }
    }
}
