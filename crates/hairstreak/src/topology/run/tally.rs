//! `Tally`: the counts and times of the boundaries, readable from other threads at any time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::numbering::Numbering;

/// The counts of one run.
pub(super) struct Tally {
    /// Time of the first message. All times below are nanoseconds since then.
    started: OnceLock<Instant>,
    /// Number of messages, known by the time the last message is sent.
    total: OnceLock<u64>,
    stages: Vec<StageTally>,
    abandoned: AtomicBool,
}

/// The counts of one stage.
pub(super) struct StageTally {
    instances: Vec<InstanceTally>,
    /// The epochs that name the tasks of each instance, if the stage settles.
    epochs: OnceLock<Vec<u64>>,
    processed: AtomicU64,
    restarts: AtomicU64,
    first_given_ns: AtomicU64,
    last_result_ns: AtomicU64,
}

/// The counts of one instance.
#[derive(Default)]
pub(super) struct InstanceTally {
    given: AtomicU64,
    answered: AtomicU64,
    answered_below: AtomicU64,
    /// The messages that the instance was given.
    pub(super) numbering: Numbering,
}

const NEVER: u64 = u64::MAX;

impl Tally {
    /// Returns the counts of a run whose stages have these numbers of instances.
    pub(super) fn new(instances: impl IntoIterator<Item = u32>) -> Tally {
        let stage = |instances| StageTally {
            instances: (0..instances).map(|_| InstanceTally::default()).collect(),
            epochs: OnceLock::new(),
            processed: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            first_given_ns: AtomicU64::new(NEVER),
            last_result_ns: AtomicU64::new(0),
        };
        Tally {
            started: OnceLock::new(),
            total: OnceLock::new(),
            stages: instances.into_iter().map(stage).collect(),
            abandoned: AtomicBool::new(false),
        }
    }

    pub(super) fn stage(&self, index: usize) -> &StageTally {
        &self.stages[index]
    }

    /// Starts the clock, unless it already runs.
    pub(super) fn start(&self) {
        self.started.get_or_init(Instant::now);
    }

    pub(super) fn since_start(&self) -> Duration {
        self.started.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    pub(super) fn set_total(&self, total: u64) {
        self.total.get_or_init(|| total);
    }

    pub(super) fn total(&self) -> Option<u64> {
        self.total.get().copied()
    }

    /// Returns the number of results of the last stage.
    pub(super) fn messages(&self) -> u64 {
        self.stages.last().map_or(0, StageTally::processed)
    }

    /// Returns the time from the first message to the last result so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.stages.last().map_or(Duration::ZERO, StageTally::last_result)
    }

    /// Notes that results are not wanted any more. Boundaries stop where they are.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Notes that an instance is about to be given a message.
    pub(super) fn giving(&self, stage: usize, instance: usize) {
        let stage = &self.stages[stage];
        stage.instances[instance].given.fetch_add(1, Ordering::Relaxed);
        if stage.first_given_ns.load(Ordering::Relaxed) == NEVER {
            stage.first_given_ns.store(self.since_start_ns(), Ordering::Relaxed);
        }
    }

    /// Notes that the message could not be given to the instance.
    pub(super) fn not_given(&self, stage: usize, instance: usize) {
        self.stages[stage].instances[instance].given.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that results of a stage arrived just now.
    pub(super) fn processed(&self, stage: usize, count: u64) {
        let stage = &self.stages[stage];
        stage.processed.fetch_add(count, Ordering::Relaxed);
        stage.last_result_ns.store(self.since_start_ns(), Ordering::Relaxed);
    }

    /// Notes that new results of an instance arrived just now, and that all its tasks below `below` have their results.
    pub(super) fn answered(&self, stage: usize, instance: usize, count: u64, below: u64) {
        let tally = &self.stages[stage].instances[instance];
        tally.answered_below.store(below, Ordering::Relaxed);
        tally.answered.fetch_add(count, Ordering::Relaxed);
        self.processed(stage, count);
    }

    /// Notes that an instance is started again.
    pub(super) fn restarted(&self, stage: usize) {
        self.stages[stage].restarts.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the stage was given all messages.
    pub(super) fn all_given(&self, stage: usize) -> bool {
        self.total().is_some_and(|total| self.stages[stage].given() == total)
    }

    fn since_start_ns(&self) -> u64 {
        u64::try_from(self.since_start().as_nanos()).unwrap_or(NEVER)
    }
}

impl StageTally {
    pub(super) fn given(&self) -> u64 {
        self.instances.iter().map(InstanceTally::given).sum()
    }

    pub(super) fn given_to_each(&self) -> Vec<u64> {
        self.instances.iter().map(InstanceTally::given).collect()
    }

    pub(super) fn instance(&self, instance: usize) -> &InstanceTally {
        &self.instances[instance]
    }

    /// Sets the epochs of the instances, once, before any of them is given a message.
    pub(super) fn set_epochs(&self, epochs: Vec<u64>) {
        self.epochs.get_or_init(|| epochs);
    }

    /// Returns the instance whose tasks have this epoch.
    pub(super) fn instance_of(&self, epoch: u64) -> Option<usize> {
        self.epochs.get()?.iter().position(|&other| other == epoch)
    }

    pub(super) fn processed(&self) -> u64 {
        self.processed.load(Ordering::Relaxed)
    }

    /// Returns the number of times that an instance was started again.
    pub(super) fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Returns the time of the latest result, since the start.
    pub(super) fn last_result(&self) -> Duration {
        Duration::from_nanos(self.last_result_ns.load(Ordering::Relaxed))
    }

    /// Returns the results a second between the first message given and the last result.
    pub(super) fn rate_per_s(&self) -> f64 {
        let first = self.first_given_ns.load(Ordering::Relaxed);
        let last = self.last_result_ns.load(Ordering::Relaxed);
        if last > first { self.processed() as f64 * 1e9 / (last - first) as f64 } else { 0.0 }
    }
}

impl InstanceTally {
    /// Returns the number of messages that the instance was given.
    pub(super) fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }

    /// Returns the number of these that have their result; counted only where results settle.
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Returns the task below which all tasks of the instance have their result.
    pub(super) fn answered_below(&self) -> u64 {
        self.answered_below.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_could_not_be_given_does_not_count() {
        let tally = Tally::new([2]);
        tally.start();
        tally.giving(0, 0);
        tally.giving(0, 1);
        tally.not_given(0, 0);
        assert_eq!(tally.stage(0).given_to_each(), [0, 1]);
        assert_eq!(tally.stage(0).given(), 1);
    }

    #[test]
    fn the_run_ends_with_the_last_stage() {
        let tally = Tally::new([1, 1]);
        tally.start();
        tally.giving(0, 0);
        tally.processed(0, 1);
        assert_eq!((tally.messages(), tally.elapsed()), (0, Duration::ZERO));
        tally.giving(1, 0);
        tally.processed(1, 1);
        assert_eq!(tally.messages(), 1);
        assert!(tally.elapsed() > Duration::ZERO);
        assert_eq!(tally.total(), None);
    }
}
