//! What a topology means: the stages of a pipeline in order, what feeds them and where their
//! results go. Read from a file by [`Topology::load`]; a program may as well put one together.
//!
//! Invariants of one that was loaded: its stages have unique names and instances within the
//! limits, and where all its times are known they make a [`Pipeline`].

use std::path::PathBuf;
use std::time::Duration;

use hairstreak_model::{
    Distribution, Fabric, Network, Pipeline, PipelineError, Routing, Times, Window, Wiring,
};
use serde::Deserialize;
use thiserror::Error;

/// Instances that all stages together may have: each is a process, or two.
pub const INSTANCES_TOTAL_MAX: u32 = 1024;
/// Messages an input may generate.
pub const MESSAGES_MAX: u64 = 1_000_000_000_000;
/// The largest message, in bytes: what the sockets take.
pub const MESSAGE_SIZE_MAX: usize = 128 << 20;
/// The longest name of a stage, in bytes.
pub const NAME_SIZE_MAX: usize = 64;

/// Stages in the order messages pass them, and both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The stages, in order; at least one.
    pub stages: Vec<Stage>,
    /// Where messages come from. A plan does without it, a run does not.
    pub input: Option<Input>,
    /// Where results go.
    pub output: Output,
    /// The machine, as the plan sees it.
    pub machine: Machine,
    /// Relative paths start here, commands run here: the folder of the topology's file.
    pub directory: PathBuf,
}

/// One step of the work, shared by identical instances.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// What people call it; unique in its topology.
    pub name: String,
    /// How many processes share its messages.
    pub instances: u32,
    /// What each instance does with a message. A stage that is only planned may leave it open.
    pub work: Option<Work>,
    /// What a message costs an instance; `None` where nobody said and it cannot be known.
    pub times: Option<Times>,
    /// How the time to process varies.
    pub distribution: Distribution,
}

impl Stage {
    /// Whether its instances settle what they are given, so that another can take the place of one that was killed.
    pub(super) fn settles(&self) -> bool {
        !matches!(self.work, Some(Work::Program(_)))
    }
}

/// What an instance does with each message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Waits that long, then passes the message on.
    Sleep(Duration),
    /// Computes for that long on a core, then passes the message on.
    Spin(Duration),
    /// Passes the message on.
    Echo,
    /// A command that reads messages on its standard input and writes one result for each on its
    /// standard output, in the same order.
    Filter {
        /// What to start.
        command: CommandLine,
        /// How messages are told apart in both streams.
        framing: Framing,
    },
    /// A program that connects a PULL socket to `HAIRSTREAK_IN` and a PUSH socket to
    /// `HAIRSTREAK_OUT` and sends one result for each message.
    Program(CommandLine),
}

/// How a command is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// By `sh -c`.
    Shell(String),
    /// As it stands: the program and its arguments, at least the program.
    Arguments(Vec<String>),
}

/// How messages are told apart in a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// One message a line; the newline is not part of it, and none can be inside it.
    Lines,
    /// Four bytes, big-endian, say how many bytes follow.
    Length,
}

/// Where messages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// So many dummies.
    Generated {
        /// How many.
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
        /// If not empty, only files whose names end in a dot and one of these.
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

/// Where results go, in the order they arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// They are counted and dropped.
    Discard,
    /// They are written one after another.
    Write {
        /// To where.
        to: Stream,
        /// How they are told apart there. In lines, each result is followed by a newline,
        /// whatever it contains.
        framing: Framing,
    },
}

/// The machine, as the plan sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its cores, if they are to count.
    pub cores: Option<u32>,
    /// What it takes a message to get from one stage to the next.
    pub hop: Duration,
    /// What a message takes in the undivided application, where that was measured.
    pub monolith: Option<Duration>,
    /// A fabric to simulate, in place of this machine's links.
    pub fabric: Option<Fabric>,
    /// The way of messages from stage to stage, if the file names one.
    pub wiring: Option<Wiring>,
    /// The rule by which the next message goes to an instance.
    pub routing: Routing,
    /// How many messages may be on their way.
    pub window: Option<Window>,
    /// How many messages may wait at each instance, where it is said.
    pub queue: Option<u64>,
    /// Messages a second that come by chance; without it they come as soon as there is room.
    pub rate: Option<f64>,
}

/// Why a topology has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Nobody said how long a stage takes.
    #[error("stage \"{stage}\": no time is known; say what one message takes, as in process = \"2ms\"")]
    TimesUnknown {
        /// The stage's name.
        stage: String,
    },
    /// The model refuses its numbers.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
}

impl Topology {
    /// The model of this topology as `[plan]` describes it, for [`hairstreak_model::simulate`].
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

    /// Bytes of each message, where the input says so.
    pub fn message_size(&self) -> Option<u64> {
        match self.input {
            Some(Input::Generated { size, .. }) => Some(size as u64),
            _ => None,
        }
    }

    /// The model of this topology as [`run`](super::run) runs it, for [`hairstreak_model::plan`] and
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
