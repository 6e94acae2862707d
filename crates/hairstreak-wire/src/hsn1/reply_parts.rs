//! `ReplyParts`: selects the parts of a reply that a client takes, so that all of them are of one run.
//!
//! A **run** is one execution of a request by one worker. A worker that dies leaves an incomplete reply. The next
//! worker starts the reply again, perhaps divided into other parts, so parts name their run. If the caller has not
//! seen any part, the client starts again, too. If the caller has, the repeated parts have to equal the delivered
//! ones; otherwise the replies differ.
//!
//! ```text
//!          part 0 of another run, and no part was taken, or the taken ones may be dropped
//!        +-----------------------------------------------------------------+
//!        v                                                                 |
//!   [following] --- part 0 of another run ---> [comparing] --- the parts are the same ---> [following]
//!                                                   |
//!                                                   +--- a part is different, or the reply is shorter ---> differs
//! ```
//!
//! Invariants: the taken parts are the first ones of one reply, in order. `followed` is at most `taken` while
//! comparing, and equal to it while following.

/// Position of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPlace {
    /// Run of the request that produced the part; 0 if the part names none.
    pub run: u64,
    /// Index among the parts, from 0.
    pub index: u32,
    /// The part is the last one.
    pub is_final: bool,
}

/// Action for a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartStep {
    /// The part is the next one.
    Take,
    /// The part is the first one of another reply. The parts taken before are dropped.
    TakeAnew,
    /// The part is dropped: it was taken before, or a part before it is missing.
    Drop,
    /// The reply ends, and a part is missing. The request has to be sent again.
    AskAgain,
    /// Another part with the same index was taken before, and its content differs. The reply fails.
    Differ,
}

/// State of one reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyParts {
    /// The run whose parts arrive, the number of its parts in order, and their digest.
    run: Option<u64>,
    followed: u32,
    followed_digest: u64,
    /// Number of parts taken, and their digest.
    taken: u32,
    taken_digest: u64,
}

impl ReplyParts {
    /// Handles a part. `may_begin_anew`: the caller has not seen any taken part. `digest` maps the digest of the
    /// parts before this one to the digest that includes this one.
    pub fn take(
        &mut self,
        part: PartPlace,
        may_begin_anew: bool,
        digest: impl FnOnce(u64) -> u64,
    ) -> PartStep {
        // A reply of one part names no run, so no other part shares its run.
        let is_whole = part.is_final && part.index == 0;
        let missing = if part.is_final { PartStep::AskAgain } else { PartStep::Drop };
        let mut begins_anew = false;
        if is_whole || self.run != Some(part.run) {
            if part.index > 0 {
                return missing;
            }
            (self.run, self.followed, self.followed_digest) = (Some(part.run), 0, 0);
            begins_anew = may_begin_anew && self.taken > 0;
            if begins_anew {
                (self.taken, self.taken_digest) = (0, 0);
            }
        }
        if part.index > self.followed {
            return missing;
        }
        if part.index < self.followed {
            return if part.is_final { PartStep::Differ } else { PartStep::Drop };
        }
        self.followed = self.followed.saturating_add(1);
        if self.followed > self.taken {
            self.taken = self.followed;
            // Without a comparison, no digest is needed.
            if !may_begin_anew && !part.is_final {
                self.followed_digest = digest(self.followed_digest);
                self.taken_digest = self.followed_digest;
            }
            return if begins_anew { PartStep::TakeAnew } else { PartStep::Take };
        }
        self.followed_digest = digest(self.followed_digest);
        let is_caught_up = self.followed == self.taken;
        if part.is_final || is_caught_up && self.followed_digest != self.taken_digest {
            return PartStep::Differ;
        }
        PartStep::Drop
    }
}

#[cfg(test)]
mod tests {
    use super::PartStep::*;
    use super::*;

    /// Handles parts, each with its run, its index, whether it is the last, and its content.
    fn steps(may_begin_anew: bool, parts: &[(u64, u32, bool, u64)]) -> Vec<PartStep> {
        let mut reply = ReplyParts::default();
        let take = |&(run, index, is_final, says): &(u64, u32, bool, u64)| {
            let digest = |before: u64| before.wrapping_mul(1_000).wrapping_add(says);
            reply.take(PartPlace { run, index, is_final }, may_begin_anew, digest)
        };
        parts.iter().map(take).collect()
    }

    const A: u64 = 1;
    const B: u64 = 2;
    const C: u64 = 3;

    #[test]
    fn parts_of_one_run_are_taken_once_and_in_order() {
        for may_begin_anew in [true, false] {
            let parts = [
                (7, 0, false, A),
                (7, 0, false, A),
                (7, 2, false, C),
                (7, 3, true, C),
                (7, 1, false, B),
                (7, 2, true, C),
            ];
            assert_eq!(steps(may_begin_anew, &parts), [Take, Drop, Drop, AskAgain, Take, Take]);
        }
    }

    #[test]
    fn where_nobody_has_seen_a_part_the_next_run_begins_anew() {
        let parts = [(7, 0, false, A), (7, 1, false, B), (8, 0, false, C), (8, 1, true, C)];
        assert_eq!(steps(true, &parts), [Take, Take, TakeAnew, Take]);
        assert_eq!(steps(true, &[(7, 0, false, A), (0, 0, true, B)]), [Take, TakeAnew], "a whole reply");
        assert_eq!(steps(true, &[(7, 0, false, A), (8, 1, false, B), (7, 1, true, C)]), [Take, Drop, Take]);
        assert_eq!(steps(true, &[(7, 0, false, A), (8, 1, true, B)]), [Take, AskAgain], "it began elsewhere");
    }

    #[test]
    fn what_was_seen_has_to_come_again_before_more_is_taken() {
        let same = [(7, 0, false, A), (7, 1, false, B), (8, 0, false, A), (8, 1, false, B), (8, 2, true, C)];
        assert_eq!(steps(false, &same), [Take, Take, Drop, Drop, Take]);
        let other = [(7, 0, false, A), (7, 1, false, B), (8, 0, false, A), (8, 1, false, C)];
        assert_eq!(steps(false, &other), [Take, Take, Drop, Differ]);
        let cut_otherwise = [(7, 0, false, A), (8, 0, false, B)];
        assert_eq!(steps(false, &cut_otherwise), [Take, Differ]);
        let shorter = [(7, 0, false, A), (7, 1, false, B), (8, 0, false, A), (8, 1, true, B)];
        assert_eq!(steps(false, &shorter), [Take, Take, Drop, Differ]);
        assert_eq!(steps(false, &[(7, 0, false, A), (0, 0, true, A)]), [Take, Differ], "a whole reply");
    }

    #[test]
    fn a_third_run_may_follow_where_the_second_was_cut_off() {
        let parts = [
            (7, 0, false, A),
            (7, 1, false, B),
            (8, 0, false, A),
            (9, 0, false, A),
            (8, 1, false, B),
            (9, 1, false, B),
            (9, 2, true, C),
        ];
        assert_eq!(steps(false, &parts), [Take, Take, Drop, Drop, Drop, Drop, Take]);
    }

    #[test]
    fn of_peers_that_name_no_run_a_last_part_below_those_that_came_differs() {
        let parts = [(0, 0, false, A), (0, 1, false, B), (0, 0, false, A), (0, 1, true, B)];
        assert_eq!(steps(true, &parts), [Take, Take, Drop, Differ]);
    }
}
