//! `Clock`: the time in which a transport's rates are told.

use serde::{Deserialize, Serialize};

use crate::broker::now_ns;

/// The time of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The host's monotonic clock.
    Wall,
}

impl Clock {
    /// The name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
        }
    }

    /// Now, in nanoseconds of this clock.
    #[inline]
    pub fn now_ns(self) -> u64 {
        match self {
            Clock::Wall => now_ns(),
        }
    }
}
