//! `RunOptions` and `Observer`: the options of a run, and its listener.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hairstreak_process::ProcessGroups;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The executable that stages are started with. It must hand its arguments after `stage` to
    /// [`stage::main`](crate::topology::stage::main), as `hairstreak` does. `None`: this process's own executable.
    pub stage_executable: Option<PathBuf>,
    /// Longest time for all instances to connect.
    pub connect_timeout: Duration,
    /// Set by a program that is nothing but a runner. This process then adopts processes of the run that lose their
    /// parent. At the end it kills every child that it has.
    pub adopts: bool,
    /// Ends the run with [`RunError::Stopped`](super::RunError::Stopped) when it is set to `true`, from any thread.
    pub stop: Arc<AtomicBool>,
    /// The process groups of the stages while they run, for a program that stops and continues them with itself.
    pub groups: ProcessGroups,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            stage_executable: None,
            connect_timeout: Duration::from_secs(30),
            adopts: false,
            stop: Arc::new(AtomicBool::new(false)),
            groups: ProcessGroups::default(),
        }
    }
}

/// Listens to a run while it goes on, in the thread that called [`run`](super::run). A `()` does not listen.
pub trait Observer {
    /// Reports the progress of the run, about ten times a second from its first message on.
    fn progress(&mut self, _progress: &Progress) {}

    /// Reports that an instance was killed, as `how` says, and is started again. Its messages without a result are done
    /// once more.
    fn restart(&mut self, _stage: &str, _instance: u32, _how: &str) {}

    /// Reports a line that an instance wrote to its standard error.
    fn stage_line(&mut self, _stage: &str, _instance: u32, _line: &str) {}
}

impl Observer for () {}

/// The progress of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Time since the first message was sent.
    pub elapsed: Duration,
    /// Results that arrived.
    pub messages: u64,
    /// Total number of messages, once it is known.
    pub messages_total: Option<u64>,
    /// Results a second, so far.
    pub rate_per_s: f64,
    /// Rate that the plan predicts for this run, if there is a prediction.
    pub predicted_per_s: Option<f64>,
    /// The stages, in order.
    pub stages: Vec<StageProgress>,
    /// Index of the stage that holds the others up: the last stage that has more messages than its instances have in
    /// hand.
    pub slowest: usize,
}

/// The progress of one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageProgress {
    /// The name of the stage.
    pub name: String,
    /// Messages given to the stage.
    pub given: u64,
    /// Results that the stage gave.
    pub processed: u64,
    /// Results a second since the first message of the stage.
    pub rate_per_s: f64,
}
