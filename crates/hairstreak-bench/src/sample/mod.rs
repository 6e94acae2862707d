//! A sample of sockets: messages of one contender between fresh processes, timed and verified.
//!
//! - `task`: the subjects of samples, and the tasks of the members
//! - `run`: the processes of a sample, and their measurements together
//! - `worker`: the work of a member
//! - `contender`: our sockets, libzmq and the limit programs

mod contender;
mod run;
mod task;
mod worker;

pub use contender::{LibzmqContext, LibzmqHandle, LibzmqType, RIVAL_NAME, failed, setting};
pub use run::Sample;
pub use task::{BATCH_COUNT, Calls, CaseName, ContenderName, Subject, Transport};
pub use worker::take_part;
