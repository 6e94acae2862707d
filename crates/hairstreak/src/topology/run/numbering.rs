//! `Numbering`: the message of each task that an instance was given.
//!
//! Instances take turns, so that the number of the message grows by a fixed step from task to task. Only when an
//! instance was passed over, a new stretch begins and is noted.
//!
//! - `Names`: the name of a message of a boundary in reports.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of stretches at which answered stretches are forgotten for the first time. Later they are forgotten whenever
/// the number has doubled.
const STRETCHES_MANY: usize = 1024;

/// The numbers of the messages of one instance, counted from 1 at its boundary.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    stretches: Mutex<Stretches>,
}

#[derive(Debug, Default)]
struct Stretches {
    /// The first task of each stretch, and its message.
    starts: Vec<(u64, u64)>,
    step: u64,
    many: usize,
}

impl Numbering {
    /// Begins a stretch: from `task` on, messages are `number`, `number + step` and so on. All tasks below `answered`
    /// have their results, and their messages are not asked for.
    pub(super) fn begin(&self, task: u64, number: u64, step: u64, answered: u64) {
        let mut stretches = self.lock();
        stretches.step = step;
        stretches.starts.push((task, number));
        if stretches.starts.len() >= stretches.many.max(STRETCHES_MANY) {
            let first = stretches.starts.partition_point(|(first, _)| *first <= answered).saturating_sub(1);
            stretches.starts.drain(..first);
            stretches.many = 2 * stretches.starts.len();
        }
    }

    /// Returns the number of the message of this task, if it is known.
    pub(super) fn number_of(&self, task: u64) -> Option<u64> {
        let stretches = self.lock();
        let at = stretches.starts.partition_point(|(first, _)| *first <= task).checked_sub(1)?;
        let (first, number) = stretches.starts[at];
        Some(number + (task - first) * stretches.step)
    }

    fn lock(&self) -> MutexGuard<'_, Stretches> {
        self.stretches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The source of a boundary's messages.
#[derive(Clone, Debug)]
pub(super) enum Names {
    /// The input.
    Numbered,
    /// The input, each message a file.
    Files(Arc<Vec<PathBuf>>),
    /// The stage of that name.
    Results(String),
}

impl Names {
    /// Returns the name of message `number`.
    pub(super) fn of(&self, number: u64) -> String {
        match self {
            Names::Numbered => format!("message {number}"),
            Names::Files(files) => match files.get(number as usize - 1) {
                Some(path) => format!("message {number} ({})", path.display()),
                None => format!("message {number}"),
            },
            Names::Results(stage) => format!("result {number} of stage \"{stage}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_found_in_its_stretch() {
        let numbering = Numbering::default();
        assert_eq!(numbering.number_of(0), None);
        numbering.begin(0, 2, 3, 0);
        numbering.begin(4, 15, 3, 0);
        let numbers = [0, 3, 4, 6].map(|task| numbering.number_of(task));
        assert_eq!(numbers, [2, 11, 15, 21].map(Some));
    }

    #[test]
    fn stretches_that_are_answered_are_forgotten() {
        let numbering = Numbering::default();
        for task in 0..10 * STRETCHES_MANY as u64 {
            numbering.begin(task, 2 * task, 1, task.saturating_sub(5));
            assert!(numbering.lock().starts.len() <= STRETCHES_MANY);
            assert_eq!(numbering.number_of(task.saturating_sub(4)), Some(2 * task.saturating_sub(4)));
        }
    }
}
