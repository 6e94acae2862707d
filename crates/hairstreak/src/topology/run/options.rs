//! How to run, and who watches.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hairstreak_process::ProcessGroups;

/// How to run a topology.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The executable that stages are started with. It must hand its arguments after `stage` to
    /// [`stage::main`](crate::topology::stage::main), as `hairstreak` does. `None` is this process's own.
    pub stage_executable: Option<PathBuf>,
    /// How long all instances may take to connect.
    pub connect_timeout: Duration,
    /// Set by a program that is nothing but a runner: what loses its parent among the processes of the run is
    /// adopted by this process, and in the end every child that this process has is killed.
    pub adopts: bool,
    /// Set to `true`, from any thread, it ends the run with [`RunError::Stopped`](super::RunError::Stopped).
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

/// What is told about a run while it goes on, from the thread that called
/// [`run`](super::run). A `()` does not listen.
pub trait Observer {
    /// How far the run is, some ten times a second from its first message on.
    fn progress(&mut self, _progress: &Progress) {}

    /// An instance was killed, as `how` says, and is started again: what it had is done once more.
    fn restart(&mut self, _stage: &str, _instance: u32, _how: &str) {}

    /// A line that an instance wrote to its standard error.
    fn stage_line(&mut self, _stage: &str, _instance: u32, _line: &str) {}
}

impl Observer for () {}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Since the first message was sent.
    pub elapsed: Duration,
    /// Results that arrived.
    pub messages: u64,
    /// Messages there will be, once that is known.
    pub messages_total: Option<u64>,
    /// Results a second, so far.
    pub rate_per_s: f64,
    /// What the plan says for this run, if it says something.
    pub predicted_per_s: Option<f64>,
    /// Stage by stage, in order.
    pub stages: Vec<StageProgress>,
    /// The stage that holds the others up, as an index: the last one that has more messages than
    /// its instances have in hand.
    pub slowest: usize,
}

/// How far one stage is.
#[derive(Clone, Debug, PartialEq)]
pub struct StageProgress {
    /// Its name.
    pub name: String,
    /// Messages it was given.
    pub given: u64,
    /// Results it gave.
    pub processed: u64,
    /// Results a second since it got its first message.
    pub rate_per_s: f64,
}
