//! `Deaths`: the number of times that an instance was killed in a row without progress.

use super::tally::StageTally;

/// An instance that was killed this many times in a row, without a new result of its own in between, is not started
/// again.
pub(super) const DEATHS_MAX: u32 = 10;

/// The deaths of one instance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deaths {
    in_a_row: u32,
    /// The standing when the process was started.
    before: Standing,
}

/// The progress of an instance, and of its stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    pub(super) given: u64,
    /// Given messages that have their result.
    pub(super) answered: u64,
    /// Results of all instances of the stage.
    pub(super) processed: u64,
}

impl Standing {
    pub(super) fn of(stage: &StageTally, instance: usize) -> Standing {
        let processed = stage.processed();
        let instance = stage.instance(instance);
        Standing { given: instance.given(), answered: instance.answered(), processed }
    }

    /// Returns whether the instance has nothing to do.
    pub(super) fn is_idle(self) -> bool {
        self.answered == self.given
    }
}

impl Deaths {
    /// Notes that the instance is started again.
    pub(super) fn restart(&mut self, now: Standing) {
        self.before = now;
    }

    /// Notes that the instance was killed. Returns whether that was once too often. The death of an idle instance is the
    /// first in its row as long as others of its stage make progress.
    pub(super) fn count(&mut self, now: Standing) -> bool {
        let others_got_on = now.is_idle() && now.processed > self.before.processed;
        let has_got_on = now.answered > self.before.answered || others_got_on;
        self.in_a_row = if has_got_on { 1 } else { self.in_a_row + 1 };
        self.in_a_row >= DEATHS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(given: u64, answered: u64, processed: u64) -> Standing {
        Standing { given, answered, processed }
    }

    /// Returns the death, out of 100, that was once too often. `standing_at` is the standing at each.
    fn last_of(standing_at: impl Fn(u64) -> Standing) -> Option<u64> {
        let mut deaths = Deaths::default();
        (1..=100).find(|death| {
            let is_last = deaths.count(standing_at(*death));
            deaths.restart(standing_at(*death));
            is_last
        })
    }

    #[test]
    fn an_instance_that_gets_on_may_be_killed_as_often_as_it_is() {
        assert_eq!(last_of(|death| standing(500, death, death)), None);
        assert_eq!(last_of(|death| standing(500, death.min(3), death)), Some(12), "the third was the first");
    }

    #[test]
    fn one_with_nothing_to_do_is_not_held_to_it_while_others_get_on() {
        assert_eq!(last_of(|death| standing(5, 5, death)), None);
        assert_eq!(last_of(|_| standing(5, 5, 5)), Some(10), "the first had got on");
        assert_eq!(last_of(|_| standing(0, 0, 0)), Some(10));
        assert_eq!(last_of(|death| standing(1, 0, death)), Some(10), "it had something to do");
    }
}
