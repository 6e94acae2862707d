//! `hairstreak map`: runs a command on each of many records, on this host and others, without losing any.
//!
//! ```text
//!   stdin -> Feed -> ventilator -> CommandPool: N commands (Filter or Each) -> sink -> ResultWriter -> stdout
//!                      |    \---> pools in `hairstreak map-worker` ---/
//!                      \-> dead letters -> Failures -> stderr
//! ```
//!
//! Each record is a task of a pipeline (`hairstreak::pipeline`) with the same number. The answer of a filter is a
//! result of one frame. The answer of a command that ran for one record has two frames: its output, and the reason of a
//! failure, which is empty after success. The result of a record that kills its filters has two frames as well.

mod budget;
mod feed;
mod meeting;
mod options;
mod pool;
mod progress;
mod result_writer;
mod stop;

pub use budget::Budget;
pub use feed::{Feed, FeedError};
pub use meeting::{Meeting, meeting};
pub use options::{MapArguments, MapWorkerArguments};
pub use pool::{CommandPool, CommandPoolOptions, Orders};
pub use progress::Shown;
pub use result_writer::Failures;
pub use result_writer::ResultWriter;
pub use stop::Stop;
