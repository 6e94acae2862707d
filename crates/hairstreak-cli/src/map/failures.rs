//! `Failures`: records that workers refuse, or that went down with too many of them, each named once.

use std::sync::Arc;

use hairstreak::pipeline::{DeadLetter, DeadLetterSink, RefusalCause};

use super::budget::Budget;
use crate::line::one_line;
use crate::output::note;

/// Names the records that have failed; they come as dead letters, of which none is lost.
pub struct Failures {
    pub letters: DeadLetterSink,
    pub budget: Arc<Budget>,
}

impl Failures {
    /// As long as the program runs.
    pub fn report(mut self) {
        // A record counts as reported when the next is asked for.
        while let Ok(letter) = self.letters.recv() {
            self.budget.give_back(letter.task.sequence);
            note(&line(&letter));
        }
    }
}

fn line(letter: &DeadLetter) -> String {
    let reason = match &letter.cause {
        RefusalCause::DeliveriesMax => format!("{} workers went with it", letter.deliveries),
        RefusalCause::Deadline => "it was not done in its time".into(),
        RefusalCause::Rejected(reason) => one_line(&String::from_utf8_lossy(reason)),
    };
    format!("hairstreak: record {} failed: {reason}\n", letter.task.sequence + 1)
}
