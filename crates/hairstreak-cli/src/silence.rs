//! `Silence`: notices that no stage gives results, though a stage has messages.

use std::time::Duration;

use hairstreak::topology::Progress;

use crate::numbers::messages;

/// The shortest silence that is reported.
const SILENCE: Duration = Duration::from_secs(10);
/// The largest part of the time between two looks that counts: a run that was stopped itself has seen no silence.
const STEP: Duration = Duration::from_secs(1);

/// The time for which no stage has given a result, though a stage has messages.
#[derive(Default)]
pub struct Silence {
    processed: u64,
    looked: Duration,
    lasts: Duration,
    is_told: bool,
}

impl Silence {
    /// Returns the report of a silence, once for each silence.
    pub fn look(&mut self, progress: &Progress) -> Option<String> {
        let passed = progress.elapsed.saturating_sub(self.looked).min(STEP);
        self.looked = progress.elapsed;
        let processed = progress.stages.iter().map(|stage| stage.processed).sum();
        let silent = progress.stages.iter().rfind(|stage| stage.given > stage.processed);
        let Some(stage) = silent.filter(|_| processed == self.processed) else {
            *self = Silence { processed, looked: self.looked, ..Silence::default() };
            return None;
        };
        self.lasts += passed;
        if self.lasts < SILENCE || self.is_told {
            return None;
        }
        self.is_told = true;
        let under_way = messages(stage.given - stage.processed);
        let seconds = SILENCE.as_secs();
        Some(format!("no result for {seconds} s: stage \"{}\" has {under_way} under way", stage.name))
    }
}

#[cfg(test)]
mod tests {
    use hairstreak::topology::StageProgress;

    use super::*;

    /// A run of two stages at that second, with these counts of messages given and processed.
    fn at(second: u64, counts: [(u64, u64); 2]) -> Progress {
        let stage = |(name, (given, processed)): (&str, (u64, u64))| StageProgress {
            name: name.into(),
            given,
            processed,
            rate_per_s: 0.0,
        };
        Progress {
            elapsed: Duration::from_secs(second),
            messages: counts[1].1,
            messages_total: None,
            rate_per_s: 0.0,
            predicted_per_s: None,
            stages: ["first", "second"].into_iter().zip(counts).map(stage).collect(),
            slowest: 0,
        }
    }

    #[test]
    fn a_stage_that_keeps_its_messages_is_named_once() {
        let mut silence = Silence::default();
        let stuck = [(5, 3), (3, 2)];
        let said: Vec<_> = (0..30)
            .filter_map(|second| silence.look(&at(second, stuck)).map(|line| (second, line)))
            .collect();
        let line = "no result for 10 s: stage \"second\" has 1 message under way".to_owned();
        assert_eq!(said, [(10, line)]);
        assert_eq!(silence.look(&at(30, [(5, 3), (3, 3)])), None, "a result came");
        let again = (31..60).find_map(|second| silence.look(&at(second, [(5, 3), (3, 3)])));
        assert_eq!(again.unwrap(), "no result for 10 s: stage \"first\" has 2 messages under way");
    }

    #[test]
    fn who_has_nothing_to_do_or_was_stopped_is_not_silent() {
        let mut silence = Silence::default();
        assert!((0..60).all(|second| silence.look(&at(second, [(5, 5), (5, 5)])).is_none()));
        assert_eq!(silence.look(&at(60, [(6, 5), (5, 5)])), None);
        assert_eq!(silence.look(&at(3600, [(6, 5), (5, 5)])), None);
    }
}
