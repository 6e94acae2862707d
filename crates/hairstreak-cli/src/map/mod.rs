//! `hairstreak map`: a command for each of many records, on this host and others, so that nothing is lost.
//!
//! ```text
//!   stdin -> Feed -> ventilator -> Crew: N commands (Filter or Each) -> sink -> Harvest -> stdout
//!                      |    \---> crews in `hairstreak map-worker` ---/
//!                      \-> dead letters -> Failures -> stderr
//! ```
//!
//! Every record is a task of a pipeline (`hairstreak::pipeline`), and its number is the task's. A filter's answer is a
//! result of one frame. What a command gave that ran for one record has two: its output, and why the record failed, which
//! is empty if it did not; a record that kills its filters has the same.

mod budget;
mod children;
mod counts;
mod crew;
mod each;
mod ending;
mod error;
mod failures;
mod feed;
mod filter;
mod framing;
mod harvest;
mod meeting;
mod options;
mod patience;
mod process;
mod progress;
mod redo;
mod results;
mod slot;
mod stop;

pub use budget::Budget;
pub use children::Children;
pub use counts::Counts;
pub use crew::{Crew, CrewOptions, Orders};
pub use error::CrewError;
pub use failures::Failures;
pub use feed::{Feed, FeedError};
pub use framing::{Framing, Splitter};
pub use harvest::Harvest;
pub use meeting::{Meeting, meeting};
pub use options::{MapArguments, MapWorkerArguments};
pub use progress::Shown;
pub use stop::Stop;
