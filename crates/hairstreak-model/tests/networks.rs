//! Measured links and simulated fabrics under a pipeline.

use std::time::Duration;

use hairstreak_model::{
    Bottleneck, Distribution, Fabric, LinkCost, Links, Load, Network, Pipeline, Simulation, Stage, Times,
    Window, Wiring, simulate,
};

const GATHER: Duration = Duration::from_micros(50);
/// The highest rate of a port of a Data Vortex: a cell into each of 16 networks in each slot of 30 ns.
const CELLS_PER_S: f64 = 16.0 / 30e-9;

fn stage(name: &str, instances: u32, process: Duration) -> Stage {
    let times = Times { process, cpu: process, ..Times::default() };
    Stage { name: name.into(), instances, times, distribution: Distribution::Constant }
}

fn links() -> Network {
    let cost = LinkCost {
        size: 100,
        send_alone_ns: 6_000.0,
        receive_alone_ns: 4_000.0,
        send_ns: 100.0,
        receive_ns: 200.0,
        latency_ns: 10_000.0,
    };
    Network::Links(Links::new(vec![cost], GATHER, 1 << 16).unwrap())
}

fn one_stage(process: Duration, network: Network) -> Pipeline {
    Pipeline::new(vec![stage("work", 1, process)]).unwrap().with_network(network).unwrap()
}

fn per_s(simulation: &Simulation) -> f64 {
    simulation.predicted_per_s.unwrap()
}

fn check(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
}

#[test]
fn a_message_that_travels_alone_pays_both_links() {
    let simulation = simulate(&one_stage(Duration::from_millis(1), links()), &Load::of(1));
    // Source, work and sink: two sends, two receives, two latencies, and the work.
    check(simulation.makespan_s, (1_000.0 + 2.0 * (6.0 + 4.0 + 10.0)) * 1e-6, 1e-9);
}

#[test]
fn an_instance_that_works_longer_than_links_gather_writes_each_result() {
    let work = Duration::from_micros(200);
    let simulation = simulate(&one_stage(work, links()), &Load::of(10_000));
    // The source is ahead, so that messages are read together: 0.2 us; each result is written alone: 6 us.
    check(per_s(&simulation), 1e6 / (0.2 + 200.0 + 6.0), 0.001);
    assert_eq!(simulation.bottleneck, Bottleneck::Stage("work".into()));
}

#[test]
fn results_that_follow_closely_are_written_together() {
    let simulation = simulate(&one_stage(Duration::from_micros(1), links()), &Load::of(50_000));
    // 1.3 us for each, and a write of 5.9 us every 50.
    check(per_s(&simulation), 1e6 / (1.3 * (1.0 + 5.9 / 50.0)), 0.02);
}

#[test]
fn hubs_take_time_on_the_same_cores() {
    let stages = vec![stage("a", 1, Duration::from_micros(100)), stage("b", 1, Duration::from_micros(100))];
    let pipeline = Pipeline::new(stages).unwrap().with_network(links()).unwrap().with_cores(1).unwrap();
    let hub = simulate(&pipeline, &Load::of(10_000));
    let direct = simulate(&pipeline.with_wiring(Wiring::Direct), &Load::of(10_000));
    assert_eq!((&hub.bottleneck, &direct.bottleneck), (&Bottleneck::Cores, &Bottleneck::Cores));
    assert!(per_s(&hub) < 0.98 * per_s(&direct), "{} and {}", per_s(&hub), per_s(&direct));
    assert!(hub.stations.iter().any(|station| station.name == "hub before b"), "{hub:?}");
    assert_eq!(direct.stations.len(), 4);
}

#[test]
fn acknowledgements_cost_a_link_too() {
    let pipeline = one_stage(Duration::from_micros(1), links()).with_wiring(Wiring::Direct);
    let with = |count| {
        let window = Window { count, acknowledge: count };
        per_s(&simulate(&pipeline.clone().with_window(window).unwrap(), &Load::of(10_000)))
    };
    let rates = [1, 10, 100, 1_000].map(with);
    assert!(rates.is_sorted(), "{rates:?}");
    // One at a time: three links with 10 us of latency and 10 us of work at their ends each, and the work.
    check(rates[0], 1e6 / (3.0 * 20.0 + 1.0), 0.25);
}

fn on_fabric(fabric: Fabric, stages: Vec<Stage>, load: &Load) -> Simulation {
    let pipeline = Pipeline::new(stages).unwrap().with_network(Network::Fabric(fabric)).unwrap();
    simulate(&pipeline, load)
}

#[test]
fn a_long_message_takes_the_slots_of_its_packets() {
    let load = Load { size: 64 << 10, ..Load::of(200) };
    let echo = || vec![stage("echo", 1, Duration::ZERO)];
    let vortex = on_fabric(Fabric::vortex(16, 4).unwrap(), echo(), &load);
    let tree = on_fabric(Fabric::fat_tree(64).unwrap(), echo(), &load);
    // 8,193 cells, 16 in each 30 ns, and 256 packets of 41 ns, in an otherwise empty network.
    check(vortex.steady_per_s.unwrap(), CELLS_PER_S / 8_193.0, 0.3);
    assert!(per_s(&vortex) <= CELLS_PER_S / 8_193.0);
    check(tree.steady_per_s.unwrap(), 1e9 / (256.0 * 41.0), 0.01);
    assert_eq!((vortex.bottleneck, tree.bottleneck), (Bottleneck::Network, Bottleneck::Network));
}

#[test]
fn work_that_takes_long_hides_the_fabric() {
    let work = Duration::from_millis(1);
    let simulation =
        on_fabric(Fabric::vortex(16, 4).unwrap(), vec![stage("work", 60, work)], &Load::of(20_000));
    check(simulation.steady_per_s.unwrap(), 60_000.0, 0.01);
    assert_eq!(simulation.bottleneck, Bottleneck::Stage("work".into()));
}

#[test]
fn a_thousand_ports_are_simulated() {
    let us = Duration::from_micros;
    let stages = || vec![stage("extract", 600, us(600)), stage("reduce", 400, us(300))];
    let run = |fabric, messages| on_fabric(fabric, stages(), &Load::of(messages));
    let vortex = || Fabric::vortex(256, 4).unwrap();
    // The stages do 1,000,000 a second, and each port carries less than a tenth of what it could.
    let simulation = run(vortex(), 20_000);
    check(simulation.steady_per_s.unwrap(), 1e6, 0.02);
    assert_eq!(simulation.bottleneck, Bottleneck::Stage("extract".into()));
    assert_eq!(run(vortex(), 2_000), run(vortex(), 2_000), "the seed decides");
    check(run(Fabric::fat_tree(1_024).unwrap(), 2_000).makespan_s, run(vortex(), 2_000).makespan_s, 0.02);
}

#[test]
fn a_source_with_long_messages_is_held_up_by_its_port() {
    // The soak test uses a thousand ports.
    let is_long = std::env::var_os("HAIRSTREAK_SOAK").is_some();
    let (heights, copies, messages) = if is_long { (256, 500, 200) } else { (16, 20, 100) };
    let stages = ["extract", "reduce"].map(|name| stage(name, copies, Duration::from_micros(100)));
    let load = Load { size: 64 << 10, ..Load::of(messages) };
    let simulation = on_fabric(Fabric::vortex(heights, 4).unwrap(), stages.to_vec(), &load);
    assert_eq!((simulation.bottleneck, simulation.exact_messages), (Bottleneck::Network, messages));
    assert!(simulation.steady_per_s.unwrap() < CELLS_PER_S / 8_193.0);
}
