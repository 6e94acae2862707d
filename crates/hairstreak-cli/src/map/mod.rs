//! `hairstreak map`: a command for each of many records, on this host and others, so that nothing is lost.
//!
//! ```text
//!   stdin -> Feed -> ventilator -> CommandPool: N commands (Filter or Each) -> sink -> ResultWriter -> stdout
//!                      |    \---> pools in `hairstreak map-worker` ---/
//!                      \-> dead letters -> Failures -> stderr
//! ```
//!
//! Every record is a task of a pipeline (`hairstreak::pipeline`), and its number is the task's. A filter's answer is a
//! result of one frame. The answer of a command that ran for one record has two frames: its output, and the reason of a
//! failure, which is empty after success. A record that kills its filters has two frames as well.

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
