//! Running a topology: its stages as processes, this process as the hub between them.
//!
//! Between two stages (and at both ends) stands a *boundary*, one thread that takes the results of
//! the stage before it in order of arrival and hands them to the instances of the stage after it,
//! strictly one after another. It holds a PULL socket and one PUSH socket for each instance. What is on its way is bounded
//! by the sockets' marks.
//!
//! Where instances settle (all but someone else's programs), a boundary keeps what it gave an instance until the boundary
//! behind the stage has passed the result on. An instance that was killed is started again, and connects to the same
//! endpoints: it is given once more what is not settled, and a result that has come already is dropped. So all that was given
//! and has no result is kept.
//!
//! Reading order: `runner` (the phases of a run), `boundary`, `fan`, `results`, `instances` and `child` (the
//! processes), `input`, `output`, `tally` (what is counted), [`RunReport`].

mod boundary;
mod child;
mod command;
mod deaths;
mod error;
mod fan;
mod input;
mod instances;
mod numbering;
mod options;
mod outlook;
mod output;
mod patient_file;
mod report;
mod results;
mod runner;
mod tally;

pub use error::RunError;
pub use options::{Observer, Progress, RunOptions, StageProgress};
pub use report::{RunReport, StageReport};
pub use runner::run;
