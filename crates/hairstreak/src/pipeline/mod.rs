//! Pipelines whose work is not lost: a ventilator, workers that may die, a sink that gets each result once.
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
//! A worker's task is settled when its result is, so the ventilator keeps it until the sink's application has taken the
//! result. What a worker had when it died goes to another; results that come twice are recognised by their task and
//! delivered once. At most [`PipelineOptions::window`] tasks are under way: that bounds memory everywhere, and how many are
//! done twice.
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
//! Workers may stand one behind the other, in any number of stages. The results of one stage are the tasks of the next, under the
//! same names, and a task is settled in the first stage when its last result is:
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
//! // A process of stage 1 takes tasks from the ventilator and listens for those who go on with them ...
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
//! As well those of stage 2 may listen ([`Worker::bind_tasks`]). So that neither has to know all of the other, a relay
//! ([`Worker::relay`]) listens at both ends and returns each task as it came.
//!
//! A task may have several results ([`Reply::Results`]): the sink has all of them or none, and so has each stage in between.
//!
//! A worker that is cut off and not dead may do a task that another does too: what it does beside its result is done at
//! least once.
//!
//! A task that a worker rejects, that was given to [`PipelineOptions::deliveries_max`] workers and none settled, or that is not
//! settled within [`PipelineOptions::deadline`] (or its own, [`Ventilator::send_within`]), or whose result the sink's application
//! rejects ([`Sink::reject`]), is refused:
//! [`Ventilator::take_refusals`] tells which, or, with [`PipelineOptions::dead_letters`], it is kept until the application of a
//! [`DeadLetterSink`] has taken it.
//!
//! A sink that dies and is started again has no memory: results that it had not settled come again. If its application
//! stores [`Sink::seen`] together with the results, in one step, [`Sink::resume_from`] goes on exactly once.
//!
//! A ventilator that dies takes with it the tasks that are not settled. Workers and sink say so, after
//! [`PipelineOptions::lost_after`]. If another ventilator is there by then at the same endpoints, they go on with it. Its
//! tasks have another epoch ([`TaskId::epoch`]); from when the sink has heard of it, it drops results of the earlier one
//! that come late, and [`Sink::completion`] counts for the new one alone.

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
