//! Why a run failed, each in one line that names the culprit.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::report::RunReport;

/// Why a run failed. Its processes are gone by the time it is returned.
#[derive(Debug, Error)]
pub enum RunError {
    /// The topology can be planned but not run: nothing feeds it.
    #[error("the topology has no [input]; write messages = N, lines = \"FILE\" or files = \"FOLDER\"")]
    NoInput,
    /// The topology can be planned but not run: a stage does nothing.
    #[error("stage \"{stage}\" says no work to do; write one of sleep, echo, builtin, command, program")]
    NoWork {
        /// The stage.
        stage: String,
    },
    /// There is no such command.
    #[error("stage \"{stage}\": {reason}")]
    Command {
        /// The stage.
        stage: String,
        /// What was looked for, and where.
        reason: String,
    },
    /// A process could not be started.
    #[error("stage \"{stage}\" instance {instance} cannot be started: {source}")]
    Start {
        /// The stage.
        stage: String,
        /// Which of it, from 1.
        instance: u32,
        /// What the system said.
        source: std::io::Error,
    },
    /// An instance did not connect.
    #[error("stage \"{stage}\" instance {instance} did not connect to {variable} within {} ms", .within.as_millis())]
    NotConnected {
        /// The stage.
        stage: String,
        /// Which of it, from 1.
        instance: u32,
        /// The environment variable with the endpoint.
        variable: &'static str,
        /// How long it had.
        within: Duration,
    },
    /// An instance ended, or did something that makes its results worthless.
    #[error("stage \"{stage}\" instance {instance}{reason}")]
    Instance {
        /// The stage.
        stage: String,
        /// Which of it, from 1.
        instance: u32,
        /// How it ended and the last line it wrote to standard error, or what it did; with the space or
        /// colon before it.
        reason: String,
    },
    /// A stage gave more results than it was given messages.
    #[error("stage \"{stage}\" sent more results than messages it got ({messages}); one for each is due")]
    TooManyResults {
        /// The stage.
        stage: String,
        /// What it was given.
        messages: u64,
    },
    /// A message does not fit the stage or output it is for.
    #[error("{message} {reason}")]
    Message {
        /// Which one, and where it came from.
        message: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The input cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Input {
        /// The file or folder, or `standard input`.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// The file, or `standard output`.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The output is a file that is read, and would be emptied. Nothing has happened to it.
    #[error("cannot write {}: it is {}, which the input reads", path.display(), input.display())]
    OutputIsInput {
        /// The output's file, or `standard output`.
        path: PathBuf,
        /// What the input calls the file.
        input: PathBuf,
    },
    /// The hub's own sockets or threads failed.
    #[error("the hub failed: {0}")]
    Hub(String),
    /// [`RunOptions::stop`](super::RunOptions::stop) was set; this is what was done until then.
    #[error("stopped; messages done: {}", .0.messages)]
    Stopped(Box<RunReport>),
}
