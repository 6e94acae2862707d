//! Running commands: process groups that end with this process, and commands that answer records.
//!
//! - [`Children`], [`ProcessGroups`], [`end_with_parent`]: commands that do not outlive this process
//! - [`descendants`]: processes that left their group
//! - [`Filter`]: a long-running command, one record in, one answer out; `redo` and `patience` are its rules
//! - [`Each`]: one command for each record
//! - [`Slot`], [`SlotContext`]: the common side of both, driven by one thread; [`Results`]: their answers on the way to the sink
//! - [`Framing`], [`Splitter`]: records in a stream of bytes
//! - [`ServiceCommand`]: one command for each request of a service
//! - [`PatientOutput`], [`keep_standard_output_closed`](fn@keep_standard_output_closed): standard output

mod children;
pub mod descendants;
mod each;
mod error;
mod filter;
mod framing;
mod parent;
mod patience;
mod patient_output;
mod process;
mod process_groups;
mod redo;
mod request_command;
mod results;
mod slot;

pub use children::Children;
pub use each::{Each, EachOptions, has_place};
pub use error::{CommandPoolError, Ending};
pub use filter::{Filter, FilterOptions};
pub use framing::{Framing, SplitError, Splitter};
pub use parent::{end_with_parent, raise_descriptor_limit};
pub use patient_output::{PatientOutput, keep_standard_output_closed};
pub use process::{KEY_COUNT, STDIN, STDOUT};
pub use process_groups::ProcessGroups;
pub use request_command::{CommandError, ServiceCommand};
pub use results::Results;
pub use slot::{Counts, News, Record, SHORTAGE_PAUSE, Slot, SlotContext};
