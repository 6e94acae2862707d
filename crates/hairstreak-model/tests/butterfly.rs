//! The tutorial's set-ups and the recurrence of a pipeline: results that are exact by hand are exact in the simulation.

use std::time::Duration;

use hairstreak_model::{
    Bottleneck, Distribution, Load, Pipeline, STAGES_MAX, Simulation, Stage, Times, plan, simulate,
};
use proptest::prelude::*;

fn stage(name: &str, instances: u32, times: Times) -> Stage {
    Stage { name: name.into(), instances, times, distribution: Distribution::Constant }
}

fn sleeps(stages: &[(u32, u64)]) -> Pipeline {
    let stages = stages.iter().enumerate().map(|(index, &(instances, ms))| {
        let times = Times { process: Duration::from_millis(ms), ..Times::default() };
        stage(&format!("component{}", index + 1), instances, times)
    });
    Pipeline::new(stages.collect()).unwrap()
}

fn run(stages: &[(u32, u64)], messages: u64) -> Simulation {
    simulate(&sleeps(stages), &Load::of(messages))
}

fn check(stages: &[(u32, u64)], messages: u64, makespan_ms: u64) {
    assert_eq!(run(stages, messages).makespan_s, makespan_ms as f64 / 1e3, "{stages:?} with {messages}");
}

#[test]
fn the_five_setups_of_the_tutorial() {
    check(&[(1, 500), (1, 500)], 100, 50_500);
    check(&[(2, 500), (2, 500)], 100, 25_500);
    check(&[(3, 500), (3, 500)], 100, 17_500);
    check(&[(2, 500), (1, 500)], 100, 50_500);
    check(&[(1, 250), (1, 750)], 100, 75_250);
    let rate = |stages: &[(u32, u64)]| run(stages, 100).predicted_per_s.unwrap();
    let rounded = |rate: f64| (rate * 1e4).round() / 1e4;
    assert_eq!(rounded(rate(&[(1, 500), (1, 500)])), 1.9802);
    assert_eq!(rounded(rate(&[(2, 500), (2, 500)])), 3.9216);
    assert_eq!(rounded(rate(&[(3, 500), (3, 500)])), 5.7143);
    assert_eq!(rounded(rate(&[(2, 500), (1, 500)])), 1.9802);
    assert_eq!(rounded(rate(&[(1, 250), (1, 750)])), 1.3289);
}

#[test]
fn the_setups_name_the_step_that_holds_them_up() {
    let slowest = |stages: &[(u32, u64)]| run(stages, 100).bottleneck;
    assert_eq!(slowest(&[(2, 500), (1, 500)]), Bottleneck::Stage("component2".into()));
    assert_eq!(slowest(&[(1, 250), (1, 750)]), Bottleneck::Stage("component2".into()));
    assert_eq!(slowest(&[(1, 750), (1, 250)]), Bottleneck::Stage("component1".into()));
}

#[test]
fn one_message_takes_the_latency_of_the_pipeline() {
    check(&[(3, 500), (1, 250), (2, 750)], 1, 1500);
    assert_eq!(run(&[(3, 500), (1, 250), (2, 750)], 1).latency.p50_s, 1.5);
}

#[test]
fn no_message_takes_no_time() {
    let nothing = run(&[(1, 500)], 0);
    assert_eq!((nothing.makespan_s, nothing.predicted_per_s), (0.0, None));
    assert_eq!(run(&[(1, 0)], 5).predicted_per_s, None);
    assert_eq!(run(&[(1, 0), (3, 0)], 100_000).makespan_s, 0.0);
}

#[test]
fn a_hop_delays_the_fill_only() {
    let pipeline = sleeps(&[(1, 500), (1, 500)]).with_hop(Duration::from_millis(10)).unwrap();
    assert_eq!(simulate(&pipeline, &Load::of(100)).makespan_s, 50.51);
}

#[test]
fn a_serial_part_is_taken_by_one_instance_at_a_time() {
    let ms = Duration::from_millis;
    let of = |instances| {
        let times = Times { process: ms(8), serial: ms(4), ..Times::default() };
        let pipeline = Pipeline::new(vec![stage("shared", instances, times)]).unwrap();
        simulate(&pipeline, &Load::of(100))
    };
    assert_eq!(of(1).makespan_s, 0.8);
    assert_eq!(of(2).makespan_s, 0.404, "the first parallel part, then the shared one back to back");
    assert_eq!(of(8).makespan_s, 0.404, "further instances only wait");
    assert_eq!(of(8).bottleneck, Bottleneck::Serial("shared".into()));
}

#[test]
fn cores_are_shared_by_the_work_of_all_stages() {
    let ms = Duration::from_millis;
    let times = Times { process: ms(10), cpu: ms(10), ..Times::default() };
    let stages = vec![stage("a", 4, times), stage("b", 4, times)];
    let pipeline = Pipeline::new(stages).unwrap().with_cores(2).unwrap();
    let simulation = simulate(&pipeline, &Load::of(100));
    assert!((1.0..1.05).contains(&simulation.makespan_s), "{simulation:?}");
    assert_eq!(simulation.bottleneck, Bottleneck::Cores);
    let waiting = Times { cpu: Duration::ZERO, ..times };
    let stages = vec![stage("a", 4, waiting), stage("b", 4, waiting)];
    let pipeline = Pipeline::new(stages).unwrap().with_cores(2).unwrap();
    assert_eq!(simulate(&pipeline, &Load::of(100)).makespan_s, 0.26, "waiting keeps no core busy");
}

#[test]
fn messages_past_the_exact_ones_follow_at_the_steady_rate() {
    for stages in [&[(3, 500), (2, 250)][..], &[(1, 250), (3, 900), (2, 500)]] {
        let pipeline = sleeps(stages);
        let makespan = |exact_messages_max| {
            simulate(&pipeline, &Load { exact_messages_max, ..Load::of(6000) }).makespan_s
        };
        let (exact, short) = (makespan(6000), makespan(600));
        assert!((exact / short - 1.0).abs() < 2e-3, "{exact} and {short} for {stages:?}");
    }
}

#[test]
fn the_largest_pipeline_does_not_overflow() {
    let hour = 3_600_000;
    let simulation = run(&[(1, hour); STAGES_MAX], u64::MAX);
    assert!(simulation.predicted_per_s.unwrap() > 0.9 / 3600.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_run_is_never_faster_than_the_steady_rate_and_loses_nothing(
        stages in prop::collection::vec((1u32..5, 1u64..900), 1..5), messages in 1u64..400
    ) {
        let simulation = run(&stages, messages);
        let per_instance = stages.iter().map(|&(n, ms)| messages.div_ceil(n.into()) * ms).max();
        prop_assert!(simulation.makespan_s >= per_instance.unwrap() as f64 / 1e3);
        let fill: u64 = stages.iter().map(|&(_, ms)| ms).sum();
        prop_assert!(simulation.makespan_s >= fill as f64 / 1e3);
        let steady = plan(&sleeps(&stages), None).steady_per_s.unwrap();
        prop_assert!(simulation.predicted_per_s.unwrap() <= steady * 1.000_001);
        prop_assert_eq!(simulation.in_flight.max, messages, "all wait in the queues, none is lost");
    }
}
