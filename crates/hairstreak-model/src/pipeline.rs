//! A pipeline as the model sees it: stages in order, each some identical instances with the times
//! one message costs.
//!
//! Invariants of a [`Pipeline`]: 1 to [`STAGES_MAX`] stages; each stage has 1 to
//! [`INSTANCES_MAX`] instances and times of at most [`TIME_MAX`]; a stage's serial part is not
//! longer than all of its work on a message. They keep every sum of the simulation inside 64 bits
//! of nanoseconds.

use std::time::Duration;

use thiserror::Error;

/// Stages a pipeline may have.
pub const STAGES_MAX: usize = 64;
/// Instances a stage may have.
pub const INSTANCES_MAX: u32 = 1024;
/// Cores a machine may have.
pub const CORES_MAX: u32 = 4096;
/// The longest time one message may take to receive, to process or to send.
pub const TIME_MAX: Duration = Duration::from_secs(3600);

/// What one message costs one instance of a stage. All zero is a stage that costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Taking the message in.
    pub receive: Duration,
    /// The work itself.
    pub process: Duration,
    /// Passing the result on.
    pub send: Duration,
    /// The part of this work that only one instance of the stage can do at a time, because they
    /// share a lock, a disk or a device.
    pub serial: Duration,
    /// The part of this work that keeps a core busy, as waiting does not.
    pub cpu: Duration,
}

impl Times {
    /// How long an instance is occupied by one message.
    pub fn busy(&self) -> Duration {
        self.receive + self.process + self.send
    }
}

/// Identical instances that share the messages of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What people call it.
    pub name: String,
    /// How many of it work side by side.
    pub instances: u32,
    /// What one message costs one of them.
    pub times: Times,
}

/// Stages in the order messages pass them, and the machine they run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    stages: Vec<Stage>,
    hop: Duration,
    cores: Option<u32>,
    monolith: Option<Duration>,
}

/// Why a pipeline cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PipelineError {
    /// No stage, or more than [`STAGES_MAX`].
    #[error("a pipeline of {0} stages; it has 1 to {STAGES_MAX}")]
    StageCount(usize),
    /// No instance, or more than [`INSTANCES_MAX`].
    #[error("stage \"{stage}\": instances = {instances}, allowed are 1 to {INSTANCES_MAX}")]
    Instances {
        /// The stage's name.
        stage: String,
        /// What was asked for.
        instances: u32,
    },
    /// A time longer than [`TIME_MAX`].
    #[error("{owner}: {key} is longer than {} s", TIME_MAX.as_secs())]
    TooLong {
        /// The stage, or the plan itself.
        owner: String,
        /// Which of the times.
        key: &'static str,
    },
    /// The time that keeps a core busy exceeds the whole.
    #[error("stage \"{stage}\": cpu is longer than receive + process + send, of which it is a part")]
    CpuTooLong {
        /// The stage's name.
        stage: String,
    },
    /// The serial part exceeds the whole.
    #[error("stage \"{stage}\": serial is longer than receive + process + send, of which it is a part")]
    SerialTooLong {
        /// The stage's name.
        stage: String,
    },
    /// No core, or more than [`CORES_MAX`].
    #[error("cores = {0}, allowed are 1 to {CORES_MAX}")]
    Cores(u32),
}

impl Pipeline {
    /// Checks `stages` and joins them with nothing between them, on a machine without limits.
    pub fn new(stages: Vec<Stage>) -> Result<Pipeline, PipelineError> {
        if stages.is_empty() || stages.len() > STAGES_MAX {
            return Err(PipelineError::StageCount(stages.len()));
        }
        for stage in &stages {
            check_stage(stage)?;
        }
        Ok(Pipeline { stages, hop: Duration::ZERO, cores: None, monolith: None })
    }

    /// What it takes a message to get from one stage to the next, beside their send and receive.
    pub fn with_hop(mut self, hop: Duration) -> Result<Pipeline, PipelineError> {
        check_time("the plan", "hop", hop)?;
        self.hop = hop;
        Ok(self)
    }

    /// The cores that all instances share: together they use no more CPU time than these have.
    pub fn with_cores(mut self, cores: u32) -> Result<Pipeline, PipelineError> {
        if cores == 0 || cores > CORES_MAX {
            return Err(PipelineError::Cores(cores));
        }
        self.cores = Some(cores);
        Ok(self)
    }

    /// The time one message takes in the undivided application, where it was measured. Without
    /// it the monolith receives as the first stage does, processes as all stages together, and
    /// sends as the last.
    pub fn with_monolith(mut self, busy: Duration) -> Result<Pipeline, PipelineError> {
        check_time("the plan", "monolith", busy)?;
        self.monolith = Some(busy);
        Ok(self)
    }

    /// The stages, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// See [`Pipeline::with_hop`].
    pub fn hop(&self) -> Duration {
        self.hop
    }

    /// See [`Pipeline::with_cores`].
    pub fn cores(&self) -> Option<u32> {
        self.cores
    }

    /// How long the undivided application is occupied by one message.
    pub fn monolith(&self) -> Duration {
        let first = self.stages.first().map_or(Duration::ZERO, |stage| stage.times.receive);
        let last = self.stages.last().map_or(Duration::ZERO, |stage| stage.times.send);
        let process: Duration = self.stages.iter().map(|stage| stage.times.process).sum();
        self.monolith.unwrap_or(first + process + last)
    }

    /// CPU time all stages together spend on one message.
    pub(crate) fn cpu(&self) -> Duration {
        self.stages.iter().map(|stage| stage.times.cpu).sum()
    }
}

fn check_stage(stage: &Stage) -> Result<(), PipelineError> {
    if stage.instances == 0 || stage.instances > INSTANCES_MAX {
        return Err(PipelineError::Instances { stage: stage.name.clone(), instances: stage.instances });
    }
    let owner = format!("stage \"{}\"", stage.name);
    let times = &stage.times;
    check_time(&owner, "receive", times.receive)?;
    check_time(&owner, "process", times.process)?;
    check_time(&owner, "send", times.send)?;
    check_time(&owner, "cpu", times.cpu)?;
    if times.cpu > times.busy() {
        return Err(PipelineError::CpuTooLong { stage: stage.name.clone() });
    }
    if times.serial > times.busy() {
        return Err(PipelineError::SerialTooLong { stage: stage.name.clone() });
    }
    Ok(())
}

fn check_time(owner: &str, key: &'static str, time: Duration) -> Result<(), PipelineError> {
    if time > TIME_MAX {
        return Err(PipelineError::TooLong { owner: owner.to_owned(), key });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(instances: u32, process: Duration) -> Stage {
        Stage { name: "work".into(), instances, times: Times { process, ..Times::default() } }
    }

    #[test]
    fn limits_hold_at_the_bound_and_one_past_it() {
        let second = Duration::from_secs(1);
        assert!(Pipeline::new(vec![stage(1, second); STAGES_MAX]).is_ok());
        assert_eq!(
            Pipeline::new(vec![stage(1, second); STAGES_MAX + 1]),
            Err(PipelineError::StageCount(STAGES_MAX + 1))
        );
        assert_eq!(Pipeline::new(Vec::new()), Err(PipelineError::StageCount(0)));
        assert!(Pipeline::new(vec![stage(INSTANCES_MAX, second)]).is_ok());
        for instances in [0, INSTANCES_MAX + 1] {
            let refused = Pipeline::new(vec![stage(instances, second)]);
            assert_eq!(refused, Err(PipelineError::Instances { stage: "work".into(), instances }));
        }
        assert!(Pipeline::new(vec![stage(1, TIME_MAX)]).is_ok());
        assert!(Pipeline::new(vec![stage(1, TIME_MAX + Duration::from_nanos(1))]).is_err());
    }

    #[test]
    fn the_serial_part_is_part_of_the_work() {
        let mut one = stage(1, Duration::from_micros(8));
        one.times.serial = Duration::from_micros(8);
        assert!(Pipeline::new(vec![one.clone()]).is_ok());
        one.times.serial += Duration::from_nanos(1);
        assert_eq!(Pipeline::new(vec![one]), Err(PipelineError::SerialTooLong { stage: "work".into() }));
    }

    #[test]
    fn the_time_that_keeps_a_core_busy_is_part_of_the_work() {
        let mut one = stage(1, Duration::from_micros(8));
        one.times.cpu = Duration::from_micros(8);
        assert!(Pipeline::new(vec![one.clone()]).is_ok());
        one.times.cpu += Duration::from_nanos(1);
        assert_eq!(Pipeline::new(vec![one]), Err(PipelineError::CpuTooLong { stage: "work".into() }));
    }

    #[test]
    fn cores_are_at_least_one() {
        let pipeline = Pipeline::new(vec![stage(1, Duration::from_secs(1))]).unwrap();
        assert!(pipeline.clone().with_cores(CORES_MAX).is_ok());
        assert_eq!(pipeline.clone().with_cores(0), Err(PipelineError::Cores(0)));
        assert_eq!(pipeline.with_cores(CORES_MAX + 1), Err(PipelineError::Cores(CORES_MAX + 1)));
    }
}
