//! `Numbering`: which message each task is that an instance was given.
//!
//! Instances take turns, so that from one task to the next it is a fixed step, unless an instance was passed over: only
//! where a new stretch begins something is noted.
//!
//! - `Names`: the name of a message of a boundary in reports.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stretches at which those that are answered are forgotten, the first time; from then on when they have doubled.
const STRETCHES_MANY: usize = 1024;

/// The numbers of the messages of one instance, counted from 1 at its boundary.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    stretches: Mutex<Stretches>,
}

#[derive(Debug, Default)]
struct Stretches {
    /// The first task of each, and its message.
    starts: Vec<(u64, u64)>,
    step: u64,
    many: usize,
}

impl Numbering {
    /// From this task on messages are `number`, `number + step` and so on. Of those below `answered`, all of which have their results, nobody will ask.
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

    /// The number of the message that is this task, if it is known.
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
    /// The name of message `number`.
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
