//! Topologies: a pipeline of stages as a file, its plan, and its run as processes.
//!
//! [`Topology::load`] reads the file, [`Topology::pipeline`] gives the model that predicts it,
//! [`run`] starts it.
//!
//! # The file
//!
//! TOML, with one `[[stage]]` after the other in the order messages pass them. Keys that are not
//! known are refused. Durations are a number and a unit: `500ms`, `2us`, `1.5s`.
//!
//! ```
//! # use hairstreak::topology::Topology;
//! # let text = r#"
//! [[stage]]
//! name = "extract"
//! instances = 2                       # 1 if left away
//! command = ["python3", "extract.py"] # or a line for `sh -c`
//! framing = "length"                  # or "lines"
//! process = "3ms"                     # for the plan
//!
//! [[stage]]
//! name = "reduce"
//! program = "exec ./reduce"           # connects to $HAIRSTREAK_IN and $HAIRSTREAK_OUT
//! receive = "4us"
//! process = "1ms"
//! send = "4us"
//! serial = "200us"                    # of these, what only one instance can do at a time
//! cpu = "1ms"                         # of these, what keeps a core busy
//!
//! [[stage]]
//! name = "pace"
//! sleep = "500us"                     # or echo = true
//!
//! [input]
//! files = "texts"                     # or lines = "FILE", lines = "-", messages = 100, size = 100
//! extensions = ["txt"]
//!
//! [output]
//! file = "results"                    # or stdout = true; discarded if left away
//! framing = "lines"                   # each result and a newline; or "length"
//!
//! [plan]
//! cores = 2                           # all stages together keep no more than these busy
//! hop = "20us"                        # from one stage to the next
//! monolith = "4ms"                    # a message in the undivided application, if measured
//! # "#;
//! # let topology = Topology::parse(text, "job.toml".as_ref()).unwrap();
//! # assert_eq!(topology.stages.len(), 3);
//! # assert!(topology.pipeline().is_ok());
//! ```
//!
//! Relative paths start at the file's folder, and commands run there. A stage gives one result for
//! each message. Results keep no order but that in which they arrive. With `framing = "length"` a
//! message follows its size in four bytes, big-endian; with `"lines"` it is a line, and a message that
//! has a newline inside is an error. A filter may hold its results back until its standard input ends,
//! as most do. A stage that gives times but nothing to do can be planned, not run.
//!
//! # Instances that are killed
//!
//! An instance of a built-in stage or of a filter that is killed is started again, and does once more what has no result yet:
//! each message has its result once all the same. What a filter did beside its output may be done twice, and what it
//! remembered is gone: one that numbers its messages begins anew.
//!
//! | what ends | is |
//! |---|---|
//! | its process, or the filter's command, by any signal | started again |
//! | the command, with a status of 129 to 159, which is how a shell says that a signal ended its own command | started again |
//! | an instance that has given all its results, by a signal | not missed |
//! | either, 10 times in a row without a new result | an error that names the first message that it had |
//! | the command, with another status than 0, or with fewer or more results than messages | an error |
//! | a `program`, but for status 0 when its work is done | an error: its sockets are its own, and nobody can tell what it had |
//!
//! Of a pipe in a command line (`a | b`) the shell tells only how the last command ended: that another was killed looks like
//! too few results. An instance that was killed while it had nothing to do counts as one with a new result if its stage has
//! one.
//!
//! Reading order: [`Topology`], `file`, [`run`], [`stage`].

mod definition;
mod duration;
mod file;
mod framing;
mod run;
pub mod stage;

pub use definition::{
    CommandLine, Framing, INSTANCES_TOTAL_MAX, Input, MESSAGE_SIZE_MAX, MESSAGES_MAX, Machine, NAME_SIZE_MAX,
    Output, PlanError, Stage, Stream, Topology, Work,
};
pub use duration::{DurationError, parse_duration};
pub use file::{FILE_SIZE_MAX, LoadError};
pub use run::{Observer, Progress, RunError, RunOptions, RunReport, StageProgress, StageReport, run};
