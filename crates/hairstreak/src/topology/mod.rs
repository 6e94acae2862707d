//! Topologies: a pipeline of stages as a file, its plan, and its run as processes.
//!
//! [`Topology::load`] reads the file, [`Topology::pipeline`] returns the model that predicts its performance, and
//! [`run`] starts it.
//!
//! # The file
//!
//! TOML, with the sections `[[stage]]` in the order in which messages pass the stages. Unknown keys are refused.
//! Durations are a number and a unit: `500ms`, `2us`, `1.5s`.
//!
//! ```
//! # use hairstreak::topology::Topology;
//! # let text = r#"
//! [[stage]]
//! name = "extract"
//! instances = 2                       # default 1
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
//! serial = "200us"                    # the part of these times that only one instance can do at a time
//! cpu = "1ms"                         # the part of these times that keeps a core busy
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
//! file = "results"                    # or stdout = true; discarded by default
//! framing = "lines"                   # each result and a newline; or "length"
//!
//! [plan]
//! cores = 2                           # limit of the cores that all stages together keep busy
//! hop = "20us"                        # from one stage to the next
//! monolith = "4ms"                    # a message in the undivided application, if measured
//! # "#;
//! # let topology = Topology::parse(text, "job.toml".as_ref()).unwrap();
//! # assert_eq!(topology.stages.len(), 3);
//! # assert!(topology.pipeline().is_ok());
//! ```
//!
//! Relative paths start at the file's folder, and commands run there. A stage gives one result for each message.
//! Results keep the order in which they arrive. With `framing = "length"` a message follows its size in four bytes,
//! big-endian. With `"lines"` a message is a line, and a newline inside a message is an error. A filter may hold its
//! results back until its standard input ends, as most filters do. A stage with times but without work can be planned,
//! not run.
//!
//! # Instances that are killed
//!
//! A killed instance of a built-in stage or of a filter is started again, and repeats the messages that have no result
//! yet. Each message still has its result once. Effects of a filter beside its output may happen twice, and its memory
//! is lost: a filter that numbers its messages begins anew.
//!
//! | event | consequence |
//! |---|---|
//! | a signal ends the process, or the filter's command | the instance is started again |
//! | the command ends with status 129 to 159: a shell reports that a signal ended its command | the instance is started again |
//! | a signal ends an instance that has given all its results | none |
//! | one of the above, 10 times in a row without a new result | an error that names the first message that the instance had |
//! | the command ends with another status than 0, or with fewer or more results than messages | an error |
//! | a `program` ends, except with status 0 when its work is done | an error: its sockets are its own, so its messages are unknown |
//!
//! For a pipe in a command line (`a | b`) the shell reports only the end of the last command. If another command is
//! killed, that looks like too few results. The death of an instance without messages counts as a death after a new
//! result if its stage has a new result.
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
    Output, Stage, Stream, Work,
};
pub use duration::{DurationError, parse_duration};
pub use file::{FILE_SIZE_MAX, LoadError, PlanError, Topology};
pub use run::{Observer, Progress, RunError, RunOptions, RunReport, StageProgress, StageReport, run};
