//! `Pipeline`: stages in order. Each stage has identical instances and the times that one message costs an instance.
//!
//! Invariants of a [`Pipeline`]: 1 to [`STAGES_MAX`] stages; each stage has 1 to
//! [`INSTANCES_MAX`] instances and times of at most [`TIME_MAX`]; a stage's serial part is not
//! longer than all of its work on a message. These bounds keep every sum of the simulation within 64 bits
//! of nanoseconds.

use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::distribution::{DEVIATION_MAX, Distribution};
use crate::network::Network;

/// The largest number of stages of a pipeline.
pub const STAGES_MAX: usize = 64;
/// The largest number of instances of a stage.
pub const INSTANCES_MAX: u32 = 1024;
/// The largest number of cores of a machine.
pub const CORES_MAX: u32 = 4096;
/// The largest window, and the largest queue of one instance, in messages.
pub const WINDOW_MAX: u64 = 1_000_000_000;
/// Default bound on the queue of an instance: the sum of the high-water marks of the sockets at both ends of its link.
pub const QUEUE_DEFAULT: u64 = 8_192;
/// The longest time one message may take to receive, to process or to send.
pub const TIME_MAX: Duration = Duration::from_secs(3600);

/// The cost of one message for one instance of a stage. A stage with all times zero costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The time to receive the message.
    pub receive: Duration,
    /// The time to process the message.
    pub process: Duration,
    /// The time to send the result.
    pub send: Duration,
    /// The part of these times in which an instance holds a resource that all instances of the stage share:
    /// a lock, a disk or a device.
    pub serial: Duration,
    /// The part of these times that keeps a core busy. The rest is waiting.
    pub cpu: Duration,
}

impl Times {
    /// The time for which one message occupies an instance.
    pub fn busy(&self) -> Duration {
        self.receive + self.process + self.send
    }
}

/// Identical instances that share the messages of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The name of the stage.
    pub name: String,
    /// The number of instances.
    pub instances: u32,
    /// The average cost of one message for one instance.
    pub times: Times,
    /// The distribution of the processing time around its average.
    pub distribution: Distribution,
}

/// The rule by which the next message of a stage goes to an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// The instances with room, in turn. While all have room, message `j` goes to instance `j mod n`.
    #[default]
    RoundRobin,
    /// The instance with the fewest messages, in its queue or in work. Among equals, the next in turn.
    LeastLoaded,
    /// A random instance with room.
    Random,
}

/// The connections between two stages: through a hub, or from instance to instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wiring {
    /// One hub between each two stages and at both ends, as in a run of a topology file.
    #[default]
    Hub,
    /// Each instance is connected to each instance of the next stage.
    Direct,
}

/// A text that is the name of no routing or of no wiring.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{word}\" is no {what}; there are {known}")]
pub struct WordError {
    /// The expected noun: routing or wiring.
    pub what: &'static str,
    /// The text.
    pub word: String,
    /// The known names.
    pub known: &'static str,
}

/// `round-robin`, `least-loaded`, `random`.
impl FromStr for Routing {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Routing, WordError> {
        match text {
            "round-robin" => Ok(Routing::RoundRobin),
            "least-loaded" => Ok(Routing::LeastLoaded),
            "random" => Ok(Routing::Random),
            _ => {
                let word = text.escape_debug().to_string();
                Err(WordError { what: "routing", word, known: "round-robin, least-loaded and random" })
            }
        }
    }
}

/// `hub`, `direct`.
impl FromStr for Wiring {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Wiring, WordError> {
        match text {
            "hub" => Ok(Wiring::Hub),
            "direct" => Ok(Wiring::Direct),
            _ => {
                let word = text.escape_debug().to_string();
                Err(WordError { what: "wiring", word, known: "hub and direct" })
            }
        }
    }
}

/// The bound on messages in flight, and the batch of the sink's acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// The largest number of messages that are sent and not acknowledged.
    pub count: u64,
    /// Results in one acknowledgement. `count` of them are stop and wait; 1 is a sliding window.
    pub acknowledge: u64,
}

/// Stages in the order in which messages pass them, and the machine that runs them.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    stages: Vec<Stage>,
    hop: Duration,
    cores: Option<u32>,
    monolith: Option<Duration>,
    network: Network,
    wiring: Wiring,
    routing: Routing,
    window: Option<Window>,
    queue: u64,
    wake_up: Duration,
}

/// The error of a pipeline that breaks a limit.
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
        /// The requested number.
        instances: u32,
    },
    /// A time longer than [`TIME_MAX`].
    #[error("{owner}: {key} is longer than {} s", TIME_MAX.as_secs())]
    TooLong {
        /// The stage, or the plan itself.
        owner: String,
        /// The key of the time.
        key: &'static str,
    },
    /// A CPU time longer than all the times of the stage.
    #[error("stage \"{stage}\": cpu is longer than receive + process + send, of which it is a part")]
    CpuTooLong {
        /// The stage's name.
        stage: String,
    },
    /// A serial part longer than all the times of the stage.
    #[error("stage \"{stage}\": serial is longer than receive + process + send, of which it is a part")]
    SerialTooLong {
        /// The stage's name.
        stage: String,
    },
    /// A deviation that is not above 0, or above [`DEVIATION_MAX`].
    #[error("stage \"{stage}\": deviation = {deviation}, allowed is more than 0 and at most {DEVIATION_MAX}")]
    Deviation {
        /// The stage's name.
        stage: String,
        /// The requested deviation, as a part of the mean.
        deviation: String,
    },
    /// A window of no messages, or of more than [`WINDOW_MAX`].
    #[error("window = {0}, allowed are 1 to {WINDOW_MAX}")]
    Window(u64),
    /// A batch of no results, or larger than the window: no acknowledgement would ever be sent.
    #[error(
        "acknowledge = {acknowledge}, allowed are 1 to the window's {count}: or nothing is ever acknowledged"
    )]
    Acknowledge {
        /// Results in one acknowledgement.
        acknowledge: u64,
        /// The window.
        count: u64,
    },
    /// A queue of no messages, or of more than [`WINDOW_MAX`].
    #[error("queue = {0}, allowed are 1 to {WINDOW_MAX}")]
    Queue(u64),
    /// The fabric has fewer ports than the pipeline has instances.
    #[error("{needed} ports are needed, for the source, the sink and each instance; the fabric has {ports}")]
    Ports {
        /// Ports that the pipeline needs.
        needed: u32,
        /// Ports of the fabric.
        ports: u32,
    },
    /// No core, or more than [`CORES_MAX`].
    #[error("cores = {0}, allowed are 1 to {CORES_MAX}")]
    Cores(u32),
}

impl Pipeline {
    /// A pipeline of these stages, with hops that cost nothing, on a machine without limits. Checks the stages.
    pub fn new(stages: Vec<Stage>) -> Result<Pipeline, PipelineError> {
        if stages.is_empty() || stages.len() > STAGES_MAX {
            return Err(PipelineError::StageCount(stages.len()));
        }
        for stage in &stages {
            check_stage(stage)?;
        }
        Ok(Pipeline {
            stages,
            hop: Duration::ZERO,
            cores: None,
            monolith: None,
            network: Network::Ideal,
            wiring: Wiring::Hub,
            routing: Routing::RoundRobin,
            window: None,
            queue: QUEUE_DEFAULT,
            wake_up: Duration::ZERO,
        })
    }

    /// Sets the time from one stage to the next, in addition to send and receive.
    pub fn with_hop(mut self, hop: Duration) -> Result<Pipeline, PipelineError> {
        check_time("the plan", "hop", hop)?;
        self.hop = hop;
        Ok(self)
    }

    /// Sets the number of cores that all instances share.
    pub fn with_cores(mut self, cores: u32) -> Result<Pipeline, PipelineError> {
        if cores == 0 || cores > CORES_MAX {
            return Err(PipelineError::Cores(cores));
        }
        self.cores = Some(cores);
        Ok(self)
    }

    /// Sets the measured time of one message in the undivided application. By default the monolith
    /// receives as the first stage does, processes as all stages together, and sends as the last.
    pub fn with_monolith(mut self, busy: Duration) -> Result<Pipeline, PipelineError> {
        check_time("the plan", "monolith", busy)?;
        self.monolith = Some(busy);
        Ok(self)
    }

    /// Sets the network. A fabric connects the instances directly: it sets the wiring to [`Wiring::Direct`].
    pub fn with_network(mut self, network: Network) -> Result<Pipeline, PipelineError> {
        if let Network::Fabric(fabric) = &network {
            let instances: u32 = self.stages.iter().map(|stage| stage.instances).sum();
            if instances + 2 > fabric.port_count() {
                return Err(PipelineError::Ports { needed: instances + 2, ports: fabric.port_count() });
            }
            self.wiring = Wiring::Direct;
        }
        self.network = network;
        Ok(self)
    }

    /// Sets the connections between stages.
    pub fn with_wiring(self, wiring: Wiring) -> Pipeline {
        Pipeline { wiring, ..self }
    }

    /// Sets the rule by which a message is given to an instance.
    pub fn with_routing(self, routing: Routing) -> Pipeline {
        Pipeline { routing, ..self }
    }

    /// Sets the bound on messages in flight. By default only the queues bound them.
    pub fn with_window(mut self, window: Window) -> Result<Pipeline, PipelineError> {
        if !(1..=WINDOW_MAX).contains(&window.count) {
            return Err(PipelineError::Window(window.count));
        }
        if !(1..=window.count).contains(&window.acknowledge) {
            let Window { count, acknowledge } = window;
            return Err(PipelineError::Acknowledge { acknowledge, count });
        }
        self.window = Some(window);
        Ok(self)
    }

    /// Sets the bound on messages that wait for an instance, including the messages on their way to it.
    pub fn with_queue(mut self, count: u64) -> Result<Pipeline, PipelineError> {
        if !(1..=WINDOW_MAX).contains(&count) {
            return Err(PipelineError::Queue(count));
        }
        self.queue = count;
        Ok(self)
    }

    /// Sets the delay of a wake-up on this machine. It is added to each wait of a stage.
    pub fn with_wake_up(mut self, late: Duration) -> Result<Pipeline, PipelineError> {
        check_time("the plan", "wake_up", late)?;
        self.wake_up = late;
        Ok(self)
    }

    /// Changes the number of instances of one stage.
    pub fn with_instances(mut self, stage: usize, instances: u32) -> Result<Pipeline, PipelineError> {
        self.stages[stage].instances = instances;
        check_stage(&self.stages[stage])?;
        let network = self.network.clone();
        self.with_network(network)
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

    /// See [`Pipeline::with_network`].
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// See [`Pipeline::with_wiring`].
    pub fn wiring(&self) -> Wiring {
        self.wiring
    }

    /// See [`Pipeline::with_routing`].
    pub fn routing(&self) -> Routing {
        self.routing
    }

    /// See [`Pipeline::with_window`].
    pub fn window(&self) -> Option<Window> {
        self.window
    }

    /// See [`Pipeline::with_queue`].
    pub fn queue(&self) -> u64 {
        self.queue
    }

    /// See [`Pipeline::with_wake_up`].
    pub fn wake_up(&self) -> Duration {
        self.wake_up
    }

    /// The time for which one message occupies the undivided application.
    pub fn monolith(&self) -> Duration {
        let first = self.stages.first().map_or(Duration::ZERO, |stage| stage.times.receive);
        let last = self.stages.last().map_or(Duration::ZERO, |stage| stage.times.send);
        let process: Duration = self.stages.iter().map(|stage| stage.times.process).sum();
        self.monolith.unwrap_or(first + process + last)
    }

    /// The CPU time of one message, in all stages together.
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
    if let Distribution::LogNormal { deviation } = stage.distribution
        && !(deviation > 0.0 && deviation <= DEVIATION_MAX)
    {
        let deviation = deviation.to_string();
        return Err(PipelineError::Deviation { stage: stage.name.clone(), deviation });
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
    use crate::network::Fabric;

    fn stage(instances: u32, process: Duration) -> Stage {
        let times = Times { process, ..Times::default() };
        Stage { name: "work".into(), instances, times, distribution: Distribution::Constant }
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

    fn pipeline() -> Pipeline {
        Pipeline::new(vec![stage(1, Duration::from_secs(1))]).unwrap()
    }

    #[test]
    fn a_window_and_what_is_acknowledged_fit_each_other() {
        let window = |count, acknowledge| pipeline().with_window(Window { count, acknowledge });
        assert!(window(1, 1).is_ok() && window(WINDOW_MAX, WINDOW_MAX).is_ok());
        assert_eq!(window(0, 1), Err(PipelineError::Window(0)));
        assert_eq!(window(WINDOW_MAX + 1, 1), Err(PipelineError::Window(WINDOW_MAX + 1)));
        assert_eq!(window(10, 0), Err(PipelineError::Acknowledge { acknowledge: 0, count: 10 }));
        assert_eq!(window(10, 11), Err(PipelineError::Acknowledge { acknowledge: 11, count: 10 }));
        assert!(pipeline().with_queue(WINDOW_MAX).is_ok());
        assert_eq!(pipeline().with_queue(0), Err(PipelineError::Queue(0)));
        assert_eq!(pipeline().with_queue(WINDOW_MAX + 1), Err(PipelineError::Queue(WINDOW_MAX + 1)));
    }

    #[test]
    fn a_deviation_is_above_nothing_and_within_its_limit() {
        let with = |deviation| {
            let mut one = stage(1, Duration::from_secs(1));
            one.distribution = Distribution::LogNormal { deviation };
            Pipeline::new(vec![one])
        };
        assert!(with(DEVIATION_MAX).is_ok());
        for deviation in [0.0, -1.0, f64::NAN, DEVIATION_MAX + 0.1] {
            assert!(matches!(with(deviation), Err(PipelineError::Deviation { .. })), "{deviation}");
        }
    }

    #[test]
    fn a_fabric_has_a_port_for_both_ends_and_each_instance() {
        let fabric = Network::Fabric(Fabric::vortex(2, 2).unwrap());
        let with = |instances| {
            let stages = vec![stage(instances, Duration::from_secs(1))];
            Pipeline::new(stages).unwrap().with_network(fabric.clone())
        };
        assert_eq!(with(2).unwrap().wiring(), Wiring::Direct);
        assert_eq!(with(3), Err(PipelineError::Ports { needed: 5, ports: 4 }));
        let grown = with(2).unwrap().with_instances(0, 3);
        assert_eq!(grown, Err(PipelineError::Ports { needed: 5, ports: 4 }));
    }
}
