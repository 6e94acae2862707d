//! What boundaries and processes tell the thread that runs the topology.

use super::boundary::Ends;
use super::error::RunError;
use crate::topology::stage::Ending;

pub(super) enum Event {
    /// A boundary has its sockets.
    Opened { boundary: usize, ends: Ends },
    /// The last result is written.
    Finished,
    /// A boundary cannot go on.
    Failed(RunError),
    /// An instance wrote a line to its standard error.
    StageLine { child: usize, line: String },
    /// A filter printed all it owed and ended with status 0.
    FilterFinished { child: usize },
    /// An instance's process is gone; the last line it wrote to standard error.
    Ended { child: usize, ending: Ending, last_line: Option<String> },
}
