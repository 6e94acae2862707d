//! Random times and windows: the simulation against the results of queueing theory for the same system.

use std::time::Duration;

use hairstreak_model::{
    Advice, Arrivals, Bottleneck, Change, Copies, Distribution, Load, Pipeline, Routing, Simulation, Stage,
    Times, Window, Wiring, advise, simulate,
};

const SERVICE: Duration = Duration::from_millis(1);
const SERVICE_S: f64 = 1e-3;

fn stage(name: &str, instances: u32, process: Duration, distribution: Distribution) -> Stage {
    Stage { name: name.into(), instances, times: Times { process, ..Times::default() }, distribution }
}

fn station(instances: u32, distribution: Distribution) -> Pipeline {
    Pipeline::new(vec![stage("work", instances, SERVICE, distribution)]).unwrap()
}

/// A simulation of random arrivals that keep each instance busy for the share `share` of the time.
fn loaded(pipeline: &Pipeline, share: f64) -> Simulation {
    let per_s = share * f64::from(pipeline.stages()[0].instances) / SERVICE_S;
    simulate(pipeline, &Load { arrivals: Arrivals::Poisson { per_s }, ..Load::of(100_000) })
}

fn check(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
}

#[test]
fn one_exponential_server_waits_as_long_as_the_equation_says() {
    // M/M/1: the time in the system is exponential with the mean S / (1 - rho).
    let simulation = loaded(&station(1, Distribution::Exponential), 0.7);
    let mean = SERVICE_S / 0.3;
    check(simulation.latency.mean_s, mean, 0.05);
    check(simulation.latency.p50_s, mean * 2f64.ln(), 0.05);
    check(simulation.latency.p99_s, mean * 100f64.ln(), 0.1);
    // Little's law.
    check(simulation.in_flight.mean, 0.7 / 0.3, 0.05);
    check(simulation.stations[1].busy, 0.7, 0.02);
    assert_eq!(simulation.bottleneck, Bottleneck::Input);
}

#[test]
fn constant_and_log_normal_servers_wait_by_the_formula_of_pollaczek_and_khinchine() {
    // M/G/1: W = rho S (1 + c^2) / (2 (1 - rho)).
    let check_with = |distribution, squared: f64| {
        let simulation = loaded(&station(1, distribution), 0.7);
        let wait = 0.7 * SERVICE_S * (1.0 + squared) / (2.0 * 0.3);
        check(simulation.latency.mean_s, SERVICE_S + wait, 0.06);
    };
    check_with(Distribution::Constant, 0.0);
    check_with(Distribution::Uniform, 1.0 / 3.0);
    check_with(Distribution::LogNormal { deviation: 0.5 }, 0.25);
}

#[test]
fn cores_that_are_shared_slow_everyone_down_by_the_same_factor() {
    // M/G/1 with processor sharing: S / (1 - rho), for any distribution (Kleinrock).
    let times = Times { process: SERVICE, cpu: SERVICE, ..Times::default() };
    let distribution = Distribution::LogNormal { deviation: 1.0 };
    let work = Stage { name: "work".into(), instances: 1_000, times, distribution };
    let pipeline = Pipeline::new(vec![work]).unwrap().with_cores(1).unwrap();
    let load = Load { arrivals: Arrivals::Poisson { per_s: 600.0 }, ..Load::of(100_000) };
    check(simulate(&pipeline, &load).latency.mean_s, SERVICE_S / 0.4, 0.06);
}

#[test]
fn turns_wait_longer_than_the_shortest_queue() {
    let turns = loaded(&station(4, Distribution::Exponential), 0.8);
    let shortest = station(4, Distribution::Exponential).with_routing(Routing::LeastLoaded);
    let random = station(4, Distribution::Exponential).with_routing(Routing::Random);
    let (shortest, random) = (loaded(&shortest, 0.8), loaded(&random, 0.8));
    assert!(shortest.latency.mean_s < 0.8 * turns.latency.mean_s, "{shortest:?} {turns:?}");
    // Random routing splits the arrivals into four independent M/M/1 queues.
    check(random.latency.mean_s, SERVICE_S / 0.2, 0.08);
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let pipeline = station(3, Distribution::Exponential);
    let with = |seed| simulate(&pipeline, &Load { seed, ..Load::of(5_000) });
    assert_eq!(with(1), with(1));
    assert_ne!(with(1).makespan_s, with(2).makespan_s);
}

/// A ventilator, four workers and a sink, 20 us from one to the next, and a window that is acknowledged in batches.
fn batched(process: Duration, window: Window) -> Simulation {
    let stages = vec![
        stage("worker", 4, process, Distribution::Constant),
        stage("sink", 1, Duration::from_micros(1), Distribution::Constant),
    ];
    let pipeline = Pipeline::new(stages).unwrap().with_hop(Duration::from_micros(20)).unwrap();
    let pipeline = pipeline.with_wiring(Wiring::Direct).with_window(window).unwrap();
    simulate(&pipeline, &Load::of(100_000))
}

/// The rate of stop and wait with `count` messages a batch.
fn stop_and_wait(process: Duration, count: u64) -> f64 {
    batched(process, Window { count, acknowledge: count }).predicted_per_s.unwrap()
}

#[test]
fn the_curve_of_batch_acknowledgements_rises_and_flattens() {
    let rates = [10, 50, 100, 1_000, 100_000].map(|batch| stop_and_wait(Duration::ZERO, batch));
    assert!(rates.is_sorted(), "{rates:?}");
    // A batch takes one round trip of 40 us, and 1 us of the sink for each message.
    for (batch, rate) in [10.0, 50.0, 100.0, 1_000.0].iter().zip(rates) {
        check(rate, batch / (batch * 1e-6 + 40e-6), 0.01);
    }
    let growth: Vec<f64> = rates.windows(2).map(|pair| pair[1] / pair[0]).collect();
    assert!(growth[0] > 2.5 && growth[2] < 1.4 && growth[3] < 1.05, "{growth:?}");
}

#[test]
fn work_that_takes_time_makes_small_batches_do() {
    // The article's second conclusion: with work of a millisecond, a batch of 100 costs nearly nothing.
    let work = Duration::from_millis(1);
    let (small, none) = (stop_and_wait(work, 100), stop_and_wait(work, 100_000));
    assert!(small > 0.99 * none, "{small} of {none}");
    let idle = stop_and_wait(Duration::ZERO, 100) / stop_and_wait(Duration::ZERO, 100_000);
    assert!(idle < 0.8, "{idle}");
}

#[test]
fn a_window_that_slides_does_not_stall() {
    let sliding = batched(Duration::ZERO, Window { count: 50, acknowledge: 1 });
    check(sliding.predicted_per_s.unwrap(), 1e6, 0.01);
    assert!(sliding.in_flight.max <= 50);
    let stalling = batched(Duration::ZERO, Window { count: 50, acknowledge: 50 });
    assert_eq!(stalling.bottleneck, Bottleneck::Window);
    assert_eq!(stalling.in_flight.max, 50);
}

#[test]
fn queues_have_their_bound() {
    let stages = vec![
        stage("fast", 1, Duration::from_micros(10), Distribution::Constant),
        stage("slow", 2, Duration::from_millis(1), Distribution::Constant),
    ];
    let with = |queue| {
        let pipeline = Pipeline::new(stages.clone()).unwrap().with_queue(queue).unwrap();
        simulate(&pipeline, &Load::of(1_000))
    };
    let shallow = with(5);
    assert_eq!((shallow.stations[1].waiting.max, shallow.stations[2].waiting.max), (5, 10));
    assert!(shallow.stations[1].blocked > 0.9, "{shallow:?}");
    check(shallow.predicted_per_s.unwrap(), with(1_000).predicted_per_s.unwrap(), 0.001);
    // Messages in the queues, one in each server, and one in the source.
    assert!(shallow.in_flight.max <= 5 + 10 + 1 + 2, "{shallow:?}");
}

fn copies(stages: &[(&str, u32)]) -> Change {
    let of = |&(stage, instances): &(&str, u32)| Copies { stage: stage.into(), instances };
    Change::Copies { stages: stages.iter().map(of).collect() }
}

#[test]
fn stages_that_are_equally_slow_grow_together() {
    let stages = vec![
        stage("first", 1, SERVICE, Distribution::Constant),
        stage("second", 2, 2 * SERVICE, Distribution::Constant),
        stage("third", 1, SERVICE / 2, Distribution::Constant),
    ];
    let advice = advise(&Pipeline::new(stages).unwrap(), &Load::of(10_000));
    assert_eq!(advice[0].change, copies(&[("first", 2), ("second", 3)]));
    check(advice[0].gain, 0.5, 0.01);
}

#[test]
fn the_first_advice_is_one_more_of_the_slowest() {
    let stages = vec![
        stage("first", 1, Duration::from_micros(12), Distribution::Constant),
        stage("second", 1, Duration::from_micros(8), Distribution::Constant),
    ];
    let advice = advise(&Pipeline::new(stages).unwrap(), &Load::of(10_000));
    let Some(Advice { change, gain, .. }) = advice.first() else { panic!("no advice") };
    assert_eq!(*change, copies(&[("first", 2)]));
    check(*gain, 0.5, 0.01);
    assert_eq!(advice.len(), 1, "nothing else gains: {advice:?}");
}

#[test]
fn advice_names_the_window_or_the_cores_where_these_hold_the_rate() {
    let hop = Duration::from_micros(50);
    let first =
        |pipeline: &Pipeline| advise(pipeline, &Load::of(10_000)).into_iter().next().map(|it| it.change);
    let stages = vec![
        stage("a", 1, Duration::from_micros(1), Distribution::Constant),
        stage("b", 1, Duration::from_micros(1), Distribution::Constant),
    ];
    let pipeline = Pipeline::new(stages).unwrap().with_hop(hop).unwrap();
    let pipeline = pipeline.with_window(Window { count: 10, acknowledge: 1 }).unwrap();
    assert_eq!(first(&pipeline), Some(Change::Window { count: 20 }));
    let times = Times { process: SERVICE, cpu: SERVICE, ..Times::default() };
    let busy = Stage { name: "busy".into(), instances: 3, times, distribution: Distribution::Constant };
    let pipeline = Pipeline::new(vec![busy]).unwrap().with_cores(2).unwrap();
    assert_eq!(first(&pipeline), Some(Change::Core { cores: 3 }));
}

#[test]
fn where_messages_come_slowly_advice_is_about_latency() {
    let pipeline = station(2, Distribution::Exponential);
    let load = Load { arrivals: Arrivals::Poisson { per_s: 1_600.0 }, ..Load::of(20_000) };
    let advice = advise(&pipeline, &load);
    let p99_s = simulate(&pipeline, &load).latency.p99_s;
    assert_eq!(advice[0].change, copies(&[("work", 3)]));
    assert!(advice.iter().all(|advice| advice.p99_s < p99_s), "{advice:?}");
    assert!(advice.iter().any(|advice| advice.change == Change::LeastLoaded), "{advice:?}");
}
