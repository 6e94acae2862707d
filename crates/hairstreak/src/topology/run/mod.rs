//! Running a topology: its stages as processes, this process as the hub between them.
//!
//! Between two stages, and at both ends, stands a *boundary*. It is a thread that takes the results of the stage before
//! in order of arrival, and hands them to the instances of the stage after, strictly in turn. It holds a PULL socket
//! and one PUSH socket for each instance. The sockets' marks bound the messages on their way.
//!
//! Instances settle their messages, except for programs of other projects. A boundary keeps a message of a settling
//! instance until the boundary behind the stage has passed the result on. A killed instance is started again, and
//! connects to the same endpoints. It is given the unsettled messages once more, and a repeated result is dropped. No
//! message without a result is lost.
//!
//! Reading order: `runner` (the phases of a run), `boundary`, `fan`, `results`, `instances` and `child` (the
//! processes), `input`, `output`, `tally` (the counts), [`RunReport`].

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
