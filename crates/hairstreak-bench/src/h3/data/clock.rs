//! `Clock`: the time in which a transport's rates are told.

use std::io;
use std::sync::Arc;

use hairstreak_transport::Endpoint;
use hairstreak_transport::vortex::FabricClock;
use serde::{Deserialize, Serialize};

use crate::broker::now_ns;

/// Which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// The host's.
    Wall,
    /// The simulated fabric's: slots that have passed, times their length. It stands while no cell is under way.
    Fabric,
}

/// A clock of either time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The host's monotonic clock.
    Wall,
    /// The clock of a fabric.
    Fabric(Arc<FabricClock>),
}

impl Time {
    /// The name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Time::Wall => "wall",
            Time::Fabric => "fabric",
        }
    }
}

impl Clock {
    /// The clock of the transport that `endpoint` is of.
    ///
    /// Errors: there is no fabric of that name.
    pub fn of(endpoint: &Endpoint) -> io::Result<Clock> {
        match endpoint {
            Endpoint::Vortex(address) => Ok(Clock::Fabric(Arc::new(FabricClock::attach(&address.fabric)?))),
            _ => Ok(Clock::Wall),
        }
    }

    /// Now, in nanoseconds of this clock.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::Wall => now_ns(),
            Clock::Fabric(clock) => clock.time().as_nanos() as u64,
        }
    }
}
