//! The parts of a topology: its stages, its input and its output, and the machine as the plan sees it.

use std::path::PathBuf;
use std::time::Duration;

use hairstreak_model::{Distribution, Fabric, Routing, Times, Window, Wiring};
use serde::Deserialize;

/// Largest number of instances of all stages together. Each is a process, or two.
pub const INSTANCES_TOTAL_MAX: u32 = 1024;
/// Largest number of messages that an input generates.
pub const MESSAGES_MAX: u64 = 1_000_000_000_000;
/// The largest message, in bytes: the limit of the sockets.
pub const MESSAGE_SIZE_MAX: usize = 128 << 20;
/// The longest name of a stage, in bytes.
pub const NAME_SIZE_MAX: usize = 64;

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
