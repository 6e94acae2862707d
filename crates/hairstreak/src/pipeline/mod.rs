//! Pipelines whose work is not lost: a ventilator, workers that may die, and a sink that gets each result once.
//!
//! ```text
//!                 tasks               results
//!   Ventilator ----------> Worker ----------> Sink
//!       ^                (any number,           |
//!       |               come and go)            |
//!       +---------------------------------------+
//!          control: end of the tasks, pause, stop
//! ```
//!
//! A worker's task is settled when its result is. The ventilator therefore keeps a task until the sink's application
//! has taken the result. When a worker dies, its tasks go to another worker. The sink recognises repeated results by
//! their task, and delivers each once. At most [`PipelineOptions::window`] tasks are under way, which bounds memory
//! everywhere, and the number of tasks that are done twice.
//!
//! ```no_run
//! use std::time::Duration;
//! use hairstreak::Message;
//! use hairstreak::pipeline::{PipelineOptions, Reply, Sink, Ventilator, Worker};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = PipelineOptions::default();
//! // One process hands out the work ...
//! let ventilator = Ventilator::bind("tcp://*:5557", "tcp://*:5556", &options)?;
//! for number in 0..1000 {
//!     ventilator.send(&format!("task {number}"))?;
//! }
//! ventilator.finish(Duration::from_secs(60))?;
//!
//! // ... any number do it ...
//! let worker = Worker::connect("tcp://localhost:5557", "tcp://localhost:5558", &options)?;
//! worker.run(|task| Reply::Result(task.message.clone()))?;
//!
//! // ... and one has the results, each once.
//! let mut sink = Sink::bind("tcp://*:5558", "tcp://localhost:5556", &options)?;
//! while let Some(result) = sink.recv()? {
//!     println!("{:?}", result.message);
//! }
//! println!("{}", sink.completion());
//! # Ok(())
//! # }
//! ```
//!
//! Workers may form any number of stages. The results of one stage are the tasks of the next, under the same names. A
//! task is settled in the first stage when its last result is:
//!
//! ```text
//!                          stage 1                stage 2
//!                   +----> Worker ----+     +---> Worker ---+
//!                   |                 |     |               |
//!   Ventilator -----+----> Worker ----+-----+---> Worker ---+----> Sink
//!       ^           |                 |     |               |        |
//!       |           +----> Worker ----+     +---> Worker ---+        |
//!       +------------------------------------------------------------+
//! ```
//!
//! ```no_run
//! # use hairstreak::pipeline::{PipelineOptions, Reply, Worker};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let options = PipelineOptions::default();
//! // A process of stage 1 takes tasks from the ventilator and listens for workers of stage 2 ...
//! let first = Worker::new(&options)?;
//! first.bind_results("tcp://*:5560")?;
//! first.connect_tasks("tcp://localhost:5557")?;
//! first.run(|task| Reply::Result(task.message.clone()))?;
//!
//! // ... and one of stage 2 connects to each of stage 1, here and on another host, and to the sink.
//! let second = Worker::new(&options)?;
//! second.connect_results("tcp://localhost:5558")?;
//! second.connect_tasks("tcp://localhost:5560")?;
//! second.connect_tasks("tcp://another:5560")?;
//! second.run(|task| Reply::Result(task.message.clone()))?;
//! # Ok(())
//! # }
//! ```
//!
//! Workers of stage 2 may listen instead ([`Worker::bind_tasks`]). A relay ([`Worker::relay`]) listens at both ends and
//! returns each task unchanged, so that no stage has to know all workers of the other.
//!
//! A task may have several results ([`Reply::Results`]). The sink, and each stage in between, gets all of them or none.
//!
//! A worker that is cut off but alive may do a task that another worker does too. Effects beside the result happen at
//! least once.
//!
//! The ventilator refuses a task in these cases:
//!
//! - a worker rejects it
//! - [`PipelineOptions::deliveries_max`] workers were given the task, and none settled it
//! - the task is not settled within [`PipelineOptions::deadline`], or within its own deadline
//!   ([`Ventilator::send_within`])
//! - the sink's application rejects its result ([`Sink::reject`])
//!
//! [`Ventilator::take_refusals`] returns the refused tasks. With [`PipelineOptions::dead_letters`], each is kept
//! instead until the application of a [`DeadLetterSink`] has taken it.
//!
//! A sink that is started again has no memory: results that it had not settled come again. An application gets each
//! result exactly once if it stores [`Sink::seen`] together with the results, in one step, and calls
//! [`Sink::resume_from`].
//!
//! When a ventilator dies, its unsettled tasks are lost. Workers and sink report this after
//! [`PipelineOptions::lost_after`]. If another ventilator is at the same endpoints by then, they go on with it. Its
//! tasks have another epoch ([`TaskId::epoch`]). Once the sink has heard of the new ventilator, it drops late results
//! of the earlier one, and [`Sink::completion`] counts for the new one alone.

mod control;
mod control_link;
mod dead_letters;
mod error;
mod options;
mod pace;
mod reports;
mod seen_tasks;
mod settler;
mod sink;
mod sources;
mod ventilator;
mod worker;

pub use dead_letters::{DeadLetter, DeadLetterSink};
pub use error::{FinishError, PipelineError, SinkError, WorkerError};
pub use hairstreak_socket::settlement::{Refusal, RefusalCause, TaskId};
pub use options::{PipelineOptions, Window};
pub use seen_tasks::{SeenTasks, SeenTasksError};
pub use sink::{Done, Sink};
pub use sources::Completion;
pub use ventilator::{Finished, Ventilator};
pub use worker::{Leaver, Reply, Task, Worker, WorkerReport};
