//! `Refusals`: the messages that their sender has given up, until the application takes them.
//!
//! An application that never takes refusals loses the oldest when there are too many. An application that takes them
//! loses none: its sends wait until it has taken them, as long as it takes some from time to time.
//!
//! Invariant: `in_turn` and `by_task` have the same messages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::task::TaskId;

/// A returned message that its sender has given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal<M> {
    /// The message.
    pub message: M,
    /// Id of the task.
    pub task: TaskId,
    /// Number of times that the message was sent.
    pub deliveries: u16,
    /// Cause of the refusal.
    pub cause: RefusalCause,
}

/// Cause of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// A receiver rejected it, with this reason, up to 255 bytes.
    Rejected(Vec<u8>),
    /// The message reached its sender's limit of deliveries.
    DeliveriesMax,
    /// The message was not settled in time. Its task may still be done: the result may be on its way or delivered,
    /// and a worker that has the message may still process it.
    Deadline,
}

#[derive(Clone, Debug)]
pub(super) struct Refusals<M> {
    count_max: usize,
    /// Time that sends wait for an application that has taken refusals. `None`: sends do not wait.
    patience: Option<Duration>,
    /// Time when the application last took refusals, while it is expected to take the next ones.
    taken_at: Option<Instant>,
    /// The refusals in the order of their arrival.
    in_turn: BTreeMap<u64, Refusal<M>>,
    by_task: BTreeSet<(TaskId, u64)>,
    /// Number of refusals so far: the key of the next one.
    next: u64,
    /// Number of refusals that were dropped because the application did not take them.
    pub lost_count: u64,
}

impl<M> Refusals<M> {
    /// Creates an empty collection. Beyond `count_max` refusals, at least one, the oldest are lost, or sends wait for
    /// up to `patience`.
    pub fn new(count_max: usize, patience: Option<Duration>) -> Refusals<M> {
        Refusals {
            count_max: count_max.max(1),
            patience,
            taken_at: None,
            in_turn: BTreeMap::new(),
            by_task: BTreeSet::new(),
            next: 0,
            lost_count: 0,
        }
    }

    /// Keeps all refusals, because the caller takes them immediately.
    pub fn keep_all(&mut self) {
        self.count_max = usize::MAX;
    }

    pub fn push(&mut self, refusal: Refusal<M>) {
        self.by_task.insert((refusal.task, self.next));
        self.in_turn.insert(self.next, refusal);
        self.next += 1;
        if self.taken_at.is_none() {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        while self.in_turn.len() > self.count_max
            && let Some((place, oldest)) = self.in_turn.pop_first()
        {
            self.by_task.remove(&(oldest.task, place));
            self.lost_count += 1;
        }
    }

    /// Removes the refusals of these tasks, `count` in sequence from `first` on, because they are done. Returns the
    /// number of removed refusals.
    pub fn strike(&mut self, first: TaskId, count: u64) -> u64 {
        let end = TaskId { sequence: first.sequence.saturating_add(count), ..first };
        let done = self.by_task.range((first, 0)..(end, 0)).copied().collect::<Vec<_>>();
        for entry in &done {
            self.by_task.remove(entry);
            self.in_turn.remove(&entry.1);
        }
        done.len() as u64
    }

    /// Takes all refusals, in the order of their arrival.
    pub fn take(&mut self) -> Vec<Refusal<M>> {
        self.by_task.clear();
        std::mem::take(&mut self.in_turn).into_values().collect()
    }

    /// Records that the application takes refusals: it is expected to take the next ones, too.
    pub fn expect_taker(&mut self, now: impl FnOnce() -> Instant) {
        if self.patience.is_some() {
            self.taken_at = Some(now());
        }
    }

    /// Returns the time until which a send waits for the application to take the refusals. `None` if it does not have
    /// to wait. After that time, the application is no longer expected to take any.
    pub fn held_until(&mut self, now: impl FnOnce() -> Instant) -> Option<Instant> {
        let (taken_at, patience) = (self.taken_at?, self.patience?);
        if self.in_turn.len() < self.count_max {
            return None;
        }
        // A time that overflows is too far in the future to wait for.
        let until = taken_at.checked_add(patience)?;
        if now() < until {
            return Some(until);
        }
        self.taken_at = None;
        self.drop_oldest();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn task(sequence: u64) -> TaskId {
        TaskId { epoch: 1, sequence }
    }

    fn push(refusals: &mut Refusals<u64>, sequences: impl IntoIterator<Item = u64>) {
        for sequence in sequences {
            let cause = RefusalCause::Deadline;
            refusals.push(Refusal { message: sequence, task: task(sequence), deliveries: 1, cause });
        }
    }

    fn take(refusals: &mut Refusals<u64>) -> Vec<u64> {
        refusals.take().into_iter().map(|refusal| refusal.message).collect()
    }

    #[test]
    fn of_too_many_that_nobody_takes_the_oldest_are_lost() {
        let mut refusals = Refusals::new(3, Some(PATIENCE));
        push(&mut refusals, [9, 4, 7]);
        assert_eq!((refusals.held_until(Instant::now), refusals.lost_count), (None, 0));
        push(&mut refusals, [5]);
        assert_eq!((take(&mut refusals), refusals.lost_count), (vec![4, 7, 5], 1));
    }

    #[test]
    fn sends_wait_for_an_application_that_takes_refusals_and_none_is_lost() {
        let begin = Instant::now();
        let at = |seconds: u64| move || begin + Duration::from_secs(seconds);
        let mut refusals = Refusals::new(3, Some(PATIENCE));
        refusals.expect_taker(at(0));
        push(&mut refusals, 0..2);
        assert_eq!(refusals.held_until(at(1)), None);
        push(&mut refusals, 2..9);
        assert_eq!(refusals.held_until(at(4)), Some(begin + PATIENCE));
        assert_eq!((take(&mut refusals).len(), refusals.held_until(at(4))), (9, None));
        refusals.expect_taker(at(4));
        push(&mut refusals, 0..9);
        assert_eq!(refusals.held_until(at(8)), Some(at(4)() + PATIENCE));
        assert_eq!(refusals.held_until(at(9)), None, "the application has gone");
        assert_eq!((refusals.lost_count, take(&mut refusals)), (6, vec![6, 7, 8]));
        push(&mut refusals, 0..9);
        assert_eq!(refusals.lost_count, 12);
    }

    #[test]
    fn without_patience_no_send_waits() {
        let mut refusals = Refusals::new(3, None);
        refusals.expect_taker(Instant::now);
        push(&mut refusals, 0..9);
        assert_eq!((refusals.held_until(Instant::now), refusals.lost_count), (None, 6));
    }

    #[test]
    fn what_turns_out_to_be_done_is_struck() {
        let mut refusals = Refusals::new(9, None);
        push(&mut refusals, [8, 3, 5, 4, 9]);
        let other = TaskId { epoch: 2, sequence: 4 };
        assert_eq!(refusals.strike(other, 9), 0);
        assert_eq!(refusals.strike(task(4), 2), 2);
        assert_eq!(refusals.strike(task(9), u64::MAX), 1);
        assert_eq!(take(&mut refusals), [8, 3]);
        assert_eq!(refusals.strike(task(0), 99), 0, "it was taken");
    }
}
