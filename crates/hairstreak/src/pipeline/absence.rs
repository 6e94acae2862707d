//! `Absence`: for how long whoever gives the tasks has been looked for in vain.

use std::time::{Duration, Instant};

/// How often a part without work looks whether its ventilator is there.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The time since the first look that found none: a part that has not looked for long has not missed it.
#[derive(Debug, Default)]
pub(super) struct Absence {
    since: Option<Instant>,
}

impl Absence {
    /// Fails with how long it has been, if that is `lost_after` or longer.
    pub fn look(&mut self, is_there: bool, lost_after: Duration) -> Result<(), Duration> {
        if is_there {
            self.since = None;
            return Ok(());
        }
        let lost_for = self.since.get_or_insert_with(Instant::now).elapsed();
        if lost_for >= lost_after { Err(lost_for) } else { Ok(()) }
    }
}
