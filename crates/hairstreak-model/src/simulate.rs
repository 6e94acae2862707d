//! The recurrence of a pipeline: when each of N messages leaves each stage.
//!
//! All messages are there at time zero. Message `j` goes to instance `j mod n` of every stage,
//! waits until that instance is free, occupies it for receive + process + send, and is at the next
//! stage one hop later. A stage's serial part comes last in its work and is taken one message at a
//! time. Times are whole nanoseconds, so a result is exact; memory is one number per instance.

use crate::pipeline::{Pipeline, Stage};
use serde::Serialize;

/// Messages that are walked through one by one. Any more follow at the steady rate, which the
/// pipeline has long reached by then.
pub const EXACT_MESSAGES_MAX: u64 = 1_000_000;

/// What happens to N messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Simulation {
    /// How many there were.
    pub messages: u64,
    /// From the first one's start to the last one's result, in seconds.
    pub makespan_s: f64,
    /// `messages / makespan_s`; none where that takes no time at all.
    pub predicted_per_s: Option<f64>,
}

/// Walks `messages` messages through `pipeline`.
pub fn simulate(pipeline: &Pipeline, messages: u64) -> Simulation {
    simulate_exactly(pipeline, messages, EXACT_MESSAGES_MAX)
}

fn simulate_exactly(pipeline: &Pipeline, messages: u64, exact_max: u64) -> Simulation {
    let exact = messages.min(exact_max);
    let mut lanes: Vec<Lanes> = pipeline.stages().iter().map(Lanes::new).collect();
    let hop = nanoseconds(pipeline.hop());
    let mut done = 0;
    for _ in 0..exact {
        let mut arrival = 0;
        for stage in &mut lanes {
            done = stage.pass(arrival);
            arrival = done + hop;
        }
    }
    let rest = (messages - exact) as f64 * pipeline.interval_s();
    let flow = done as f64 / 1e9 + rest;
    let makespan_s = flow.max(messages as f64 * pipeline.cpu_interval_s());
    let predicted_per_s = (makespan_s > 0.0).then(|| messages as f64 / makespan_s);
    Simulation { messages, makespan_s, predicted_per_s }
}

/// The instances of one stage: when each becomes free.
struct Lanes {
    free: Vec<u64>,
    next: usize,
    serial_free: u64,
    parallel: u64,
    serial: u64,
}

impl Lanes {
    fn new(stage: &Stage) -> Lanes {
        let serial = nanoseconds(stage.times.serial);
        Lanes {
            free: vec![0; stage.instances as usize],
            next: 0,
            serial_free: 0,
            parallel: nanoseconds(stage.times.busy()) - serial,
            serial,
        }
    }

    /// The next message arrives; when is it done?
    fn pass(&mut self, arrival: u64) -> u64 {
        let lane = &mut self.free[self.next];
        let mut done = arrival.max(*lane) + self.parallel;
        if self.serial > 0 {
            done = done.max(self.serial_free) + self.serial;
            self.serial_free = done;
        }
        *lane = done;
        self.next = if self.next + 1 == self.free.len() { 0 } else { self.next + 1 };
        done
    }
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    // INVARIANT: a pipeline's times are at most an hour each, 3.6e12 of the 1.8e19 that fit.
    u64::try_from(time.as_nanos()).expect("a time of at most some hours")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Times;
    use proptest::prelude::*;
    use std::time::Duration;

    fn sleeps(stages: &[(u32, u64)]) -> Pipeline {
        let stage = |&(instances, ms)| Stage {
            name: "component".into(),
            instances,
            times: Times { process: Duration::from_millis(ms), ..Times::default() },
        };
        Pipeline::new(stages.iter().map(stage).collect()).unwrap()
    }

    fn check(stages: &[(u32, u64)], messages: u64, makespan_ms: u64) {
        let simulation = simulate(&sleeps(stages), messages);
        assert_eq!(simulation.makespan_s, makespan_ms as f64 / 1e3, "{stages:?} with {messages}");
    }

    #[test]
    fn the_five_setups_of_the_tutorial() {
        check(&[(1, 500), (1, 500)], 100, 50_500);
        check(&[(2, 500), (2, 500)], 100, 25_500);
        check(&[(3, 500), (3, 500)], 100, 17_500);
        check(&[(2, 500), (1, 500)], 100, 50_500);
        check(&[(1, 250), (1, 750)], 100, 75_250);
        let rate = |stages: &[(u32, u64)]| simulate(&sleeps(stages), 100).predicted_per_s.unwrap();
        let rounded = |rate: f64| (rate * 1e4).round() / 1e4;
        assert_eq!(rounded(rate(&[(1, 500), (1, 500)])), 1.9802);
        assert_eq!(rounded(rate(&[(2, 500), (2, 500)])), 3.9216);
        assert_eq!(rounded(rate(&[(3, 500), (3, 500)])), 5.7143);
        assert_eq!(rounded(rate(&[(2, 500), (1, 500)])), 1.9802);
        assert_eq!(rounded(rate(&[(1, 250), (1, 750)])), 1.3289);
    }

    #[test]
    fn one_message_takes_the_latency_of_the_pipeline() {
        check(&[(3, 500), (1, 250), (2, 750)], 1, 1500);
    }

    #[test]
    fn no_message_takes_no_time() {
        let nothing = simulate(&sleeps(&[(1, 500)]), 0);
        assert_eq!((nothing.makespan_s, nothing.predicted_per_s), (0.0, None));
        assert_eq!(simulate(&sleeps(&[(1, 0)]), 5).predicted_per_s, None);
    }

    #[test]
    fn a_hop_delays_the_fill_only() {
        let pipeline = sleeps(&[(1, 500), (1, 500)]).with_hop(Duration::from_millis(10)).unwrap();
        assert_eq!(simulate(&pipeline, 100).makespan_s, 50.51);
    }

    #[test]
    fn a_serial_part_is_taken_by_one_instance_at_a_time() {
        let stage = |instances| Stage {
            name: "shared".into(),
            instances,
            times: Times {
                process: Duration::from_millis(8),
                serial: Duration::from_millis(4),
                ..Times::default()
            },
        };
        let makespan = |instances| simulate(&Pipeline::new(vec![stage(instances)]).unwrap(), 100).makespan_s;
        assert_eq!(makespan(1), 0.8);
        assert_eq!(makespan(2), 0.404, "the first parallel part, then the shared one back to back");
        assert_eq!(makespan(8), 0.404, "further instances only wait");
    }

    #[test]
    fn cores_bound_the_work_of_all_stages() {
        let mut stages = sleeps(&[(4, 10), (4, 10)]).stages().to_vec();
        for stage in &mut stages {
            stage.times.cpu = Duration::from_millis(10);
        }
        let pipeline = Pipeline::new(stages).unwrap().with_cores(2).unwrap();
        assert_eq!(simulate(&pipeline, 100).predicted_per_s, Some(100.0));
    }

    #[test]
    fn messages_past_the_exact_ones_follow_at_the_steady_rate() {
        for stages in [&[(3, 500), (2, 250)][..], &[(1, 250), (3, 900), (2, 500)]] {
            let pipeline = sleeps(stages);
            let exact = simulate_exactly(&pipeline, 6000, 6000).makespan_s;
            let short = simulate_exactly(&pipeline, 6000, 600).makespan_s;
            assert!((exact - short).abs() < 1e-6, "{exact} and {short} for {stages:?}");
        }
    }

    #[test]
    fn the_largest_pipeline_does_not_overflow() {
        let hour = 3_600_000;
        let pipeline = sleeps(&[(1, hour); crate::STAGES_MAX]);
        let simulation = simulate(&pipeline, u64::MAX);
        assert!(simulation.predicted_per_s.unwrap() > 0.9 / 3600.0);
    }

    proptest! {
        #[test]
        fn a_run_is_never_faster_than_the_steady_rate(
            stages in prop::collection::vec((1u32..5, 1u64..900), 1..5), messages in 1u64..400
        ) {
            let pipeline = sleeps(&stages);
            let simulation = simulate(&pipeline, messages);
            let per_instance = stages.iter().map(|&(n, ms)| messages.div_ceil(n.into()) * ms).max();
            prop_assert!(simulation.makespan_s >= per_instance.unwrap() as f64 / 1e3);
            let fill: u64 = stages.iter().map(|&(_, ms)| ms).sum();
            prop_assert!(simulation.makespan_s >= fill as f64 / 1e3);
        }
    }
}
