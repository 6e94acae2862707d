//! `Topology`: the stages of a pipeline in order, their input and their output. [`Topology::load`] reads it from a
//! file. A program may also put it together.
//!
//! Invariants of a loaded topology: its stages have unique names, and instances within the limits. If all its times are
//! known, they make a [`Pipeline`].

use std::path::PathBuf;
use std::time::Duration;

use hairstreak_model::{
    Distribution, Fabric, Network, Pipeline, PipelineError, Routing, Times, Window, Wiring,
};
use serde::Deserialize;
use thiserror::Error;

/// Largest number of instances of all stages together. Each is a process, or two.
pub const INSTANCES_TOTAL_MAX: u32 = 1024;
/// Largest number of messages that an input generates.
pub const MESSAGES_MAX: u64 = 1_000_000_000_000;
/// The largest message, in bytes: the limit of the sockets.
pub const MESSAGE_SIZE_MAX: usize = 128 << 20;
/// The longest name of a stage, in bytes.
pub const NAME_SIZE_MAX: usize = 64;

/// The stages in the order in which messages pass them, and both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The stages, in order; at least one.
    pub stages: Vec<Stage>,
    /// The source of messages. A plan does without it, a run does not.
    pub input: Option<Input>,
    /// The destination of results.
    pub output: Output,
    /// The machine, as the plan sees it.
    pub machine: Machine,
    /// The folder of the topology's file. Relative paths start here, and commands run here.
    pub directory: PathBuf,
}

/// One step of the work, shared by identical instances.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The name; unique in its topology.
    pub name: String,
    /// Number of processes that share its messages.
    pub instances: u32,
    /// The work of each instance on a message. A stage that is only planned may have none.
    pub work: Option<Work>,
    /// The times of a message in an instance; `None` if they are not given and cannot be derived.
    pub times: Option<Times>,
    /// The distribution of the time to process.
    pub distribution: Distribution,
}

impl Stage {
    /// Returns whether instances settle their messages, so that another can take the place of a killed instance.
    pub(super) fn settles(&self) -> bool {
        !matches!(self.work, Some(Work::Program(_)))
    }
}

/// The work of an instance on each message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Waits for this time, then passes the message on.
    Sleep(Duration),
    /// Computes for this time on a core, then passes the message on.
    Spin(Duration),
    /// Passes the message on.
    Echo,
    /// A command that reads messages on its standard input and writes one result for each on its
    /// standard output, in the same order.
    Filter {
        /// The command.
        command: CommandLine,
        /// The framing of messages in both streams.
        framing: Framing,
    },
    /// A program that connects a PULL socket to `HAIRSTREAK_IN` and a PUSH socket to
    /// `HAIRSTREAK_OUT` and sends one result for each message.
    Program(CommandLine),
}

/// The way a command is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// By `sh -c`.
    Shell(String),
    /// Without a shell: the program and its arguments, at least the program.
    Arguments(Vec<String>),
}

/// The framing of messages in a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// One message a line. The newline is not part of the message, and no newline is inside it.
    Lines,
    /// Four bytes, big-endian, state the number of bytes that follow.
    Length,
}

/// The source of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Generated messages.
    Generated {
        /// Number of messages.
        messages: u64,
        /// Bytes of each.
        size: usize,
    },
    /// Each line is a message.
    Lines(Stream),
    /// Each file below a folder is a message, in the order of their paths.
    Files {
        /// The folder.
        directory: PathBuf,
        /// Extensions without dots. If there are any, only files with one of them are messages.
        extensions: Vec<String>,
    },
}

/// A file or the standard stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard input, or standard output.
    Standard,
    /// The file of that path.
    File(PathBuf),
}

/// The destination of results, in the order in which they arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// They are counted and dropped.
    Discard,
    /// They are written one after another.
    Write {
        /// The destination.
        to: Stream,
        /// The framing of results. With lines, each result is followed by a newline, even if newlines are inside it.
        framing: Framing,
    },
}

/// The machine, as the plan sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Number of cores, if the plan considers them.
    pub cores: Option<u32>,
    /// Time of a message from one stage to the next.
    pub hop: Duration,
    /// Measured time of a message in the undivided application.
    pub monolith: Option<Duration>,
    /// A fabric to simulate, in place of this machine's links.
    pub fabric: Option<Fabric>,
    /// The way of messages from stage to stage, if the file names one.
    pub wiring: Option<Wiring>,
    /// The rule by which the next message goes to an instance.
    pub routing: Routing,
    /// Limit of the messages on their way.
    pub window: Option<Window>,
    /// Limit of the messages that wait at each instance.
    pub queue: Option<u64>,
    /// Messages a second that arrive at random. `None`: messages arrive as soon as there is room.
    pub rate: Option<f64>,
}

/// An error of planning a topology.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The time of a stage is unknown.
    #[error("stage \"{stage}\": no time is known; say what one message takes, as in process = \"2ms\"")]
    TimesUnknown {
        /// The stage's name.
        stage: String,
    },
    /// The model refuses the numbers.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
}

impl Topology {
    /// Returns the model of this topology as `[plan]` describes it, for [`hairstreak_model::simulate`].
    pub fn planned_pipeline(&self) -> Result<Pipeline, PlanError> {
        let machine = &self.machine;
        let mut pipeline = self.pipeline()?.with_routing(machine.routing);
        if let Some(wiring) = machine.wiring {
            pipeline = pipeline.with_wiring(wiring);
        }
        if let Some(window) = machine.window {
            pipeline = pipeline.with_window(window)?;
        }
        if let Some(queue) = machine.queue {
            pipeline = pipeline.with_queue(queue)?;
        }
        if let Some(fabric) = machine.fabric {
            pipeline = pipeline.with_network(Network::Fabric(fabric))?;
        }
        Ok(pipeline)
    }

    /// Returns the bytes of each message, if the input states them.
    pub fn message_size(&self) -> Option<u64> {
        match self.input {
            Some(Input::Generated { size, .. }) => Some(size as u64),
            _ => None,
        }
    }

    /// Returns the model of this topology as [`run`](super::run) runs it, for [`hairstreak_model::plan`] and
    /// [`hairstreak_model::simulate`].
    pub fn pipeline(&self) -> Result<Pipeline, PlanError> {
        let stages = self.stages.iter().map(|stage| {
            let unknown = || PlanError::TimesUnknown { stage: stage.name.clone() };
            let times = stage.times.ok_or_else(unknown)?;
            let (name, instances, distribution) = (stage.name.clone(), stage.instances, stage.distribution);
            Ok(hairstreak_model::Stage { name, instances, times, distribution })
        });
        let mut pipeline =
            Pipeline::new(stages.collect::<Result<_, PlanError>>()?)?.with_hop(self.machine.hop)?;
        if let Some(cores) = self.machine.cores {
            pipeline = pipeline.with_cores(cores)?;
        }
        if let Some(monolith) = self.machine.monolith {
            pipeline = pipeline.with_monolith(monolith)?;
        }
        Ok(pipeline)
    }
}
