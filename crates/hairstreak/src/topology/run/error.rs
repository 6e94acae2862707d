//! The errors of a run, each in one line that names the culprit.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::report::RunReport;

/// An error of a run. The run's processes are gone when it is returned.
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
        /// The command, and the place that was searched.
        reason: String,
    },
    /// A process could not be started.
    #[error("stage \"{stage}\" instance {instance} cannot be started: {source}")]
    Start {
        /// The stage.
        stage: String,
        /// The number of the instance, from 1.
        instance: u32,
        /// The system's error.
        source: std::io::Error,
    },
    /// An instance did not connect.
    #[error("stage \"{stage}\" instance {instance} did not connect to {variable} within {} ms", .within.as_millis())]
    NotConnected {
        /// The stage.
        stage: String,
        /// The number of the instance, from 1.
        instance: u32,
        /// The environment variable with the endpoint.
        variable: &'static str,
        /// The time that it had.
        within: Duration,
    },
    /// An instance ended, or its results became worthless.
    #[error("stage \"{stage}\" instance {instance}{reason}")]
    Instance {
        /// The stage.
        stage: String,
        /// The number of the instance, from 1.
        instance: u32,
        /// Its end with the last line that it wrote to standard error, or its fault. The text begins with a space or a
        /// colon.
        reason: String,
    },
    /// A stage gave more results than messages.
    #[error("stage \"{stage}\" sent more results than messages it got ({messages}); one for each is due")]
    TooManyResults {
        /// The stage.
        stage: String,
        /// Number of messages that it was given.
        messages: u64,
    },
    /// A message does not fit its stage or the output.
    #[error("{message} {reason}")]
    Message {
        /// The message, and its source.
        message: String,
        /// The fault.
        reason: String,
    },
    /// The input cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Input {
        /// The file or folder, or `standard input`.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// The file, or `standard output`.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The output is a file that the input reads, and would be emptied. The file is unchanged.
    #[error("cannot write {}: it is {}, which the input reads", path.display(), input.display())]
    OutputIsInput {
        /// The output's file, or `standard output`.
        path: PathBuf,
        /// The name of the file in the input.
        input: PathBuf,
    },
    /// The hub's own sockets or threads failed.
    #[error("the hub failed: {0}")]
    Hub(String),
    /// [`RunOptions::stop`](super::RunOptions::stop) was set. The report covers the run until then.
    #[error("stopped; messages done: {}", .0.messages)]
    Stopped(Box<RunReport>),
}
