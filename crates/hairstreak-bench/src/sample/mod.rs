//! One sample: a task done once by one contender in fresh processes, timed and verified.
//!
//! What is measured and over what is a [`Scenario`]; who is measured and how it is called makes it a [`Subject`].
//! `run` starts the processes of a sample and adds up what they measured; `worker` is what runs in them; `contender`
//! holds those who are measured. The benchmarks decide what is sampled, in which order, and what it means.

mod contender;
mod run;
mod scenario;
mod task;
mod worker;

pub use contender::libzmq_version;
pub(crate) use contender::{ContenderError, LibzmqContext, LibzmqHandle, LibzmqType};
pub use run::{Sample, SampleError, Subject};
pub use scenario::{Scenario, Transport};
pub use task::{BATCH_COUNT, Calls, CaseName, ContenderName, SUBSCRIBER_COUNT};
pub use worker::{WorkerError, work};
