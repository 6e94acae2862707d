//! Traffic through the Data Vortex: figures that follow from the switch's rules.

use hairstreak_fabric::Parallel;
use hairstreak_fabric::measure::{Figures, Span, measure};
use hairstreak_fabric::trace::Trace;
use hairstreak_fabric::traffic::{Arrivals, Pattern, Traffic};
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};

const SPAN: Span = Span::new(500, 5_000);

fn run(heights: u32, angles: u32, traffic: impl FnOnce(Shape) -> Traffic, seed: u64) -> Figures {
    let shape = Shape::new(heights, angles).unwrap();
    measure(&mut Switch::new(shape, Permutation::Patent), traffic(shape).sources(seed), SPAN)
}

fn uniform(arrivals: Arrivals) -> impl FnOnce(Shape) -> Traffic {
    move |shape| Traffic::uniform(shape.port_count(), arrivals)
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let load = Arrivals::Independent { load: 0.15 };
    assert_eq!(run(16, 3, uniform(load), 5), run(16, 3, uniform(load), 5));
    assert_ne!(run(16, 3, uniform(load), 5), run(16, 3, uniform(load), 6));
}

#[test]
fn below_saturation_all_that_is_offered_is_accepted_and_every_port_has_its_part() {
    let figures = run(32, 4, uniform(Arrivals::Independent { load: 0.15 }), 1);
    assert!((figures.accepted_per_port() - 0.15).abs() < 0.005);
    assert_eq!(figures.refused, 0);
    let (least, most) = figures.spread();
    // 750 packets a port: four standard deviations are 13%.
    assert!(least > 0.83 && most < 1.17, "{least} to {most}");
}

#[test]
fn at_saturation_every_port_has_its_part() {
    let (least, most) = run(32, 4, uniform(Arrivals::Always), 1).spread();
    assert!(least > 0.85 && most < 1.15, "{least} to {most}");
}

#[test]
fn load_costs_latency_and_order() {
    let [idle, half, full] =
        [0.01, 0.1, 0.2].map(|load| run(64, 4, uniform(Arrivals::Independent { load }), 1));
    assert!(idle.latency.mean() < half.latency.mean() && half.latency.mean() < full.latency.mean());
    assert!(half.waiting.mean() < full.waiting.mean());
    assert!(full.latency.percentile(0.99) > full.latency.percentile(0.5));
    assert!(full.latency.percentile(1.0) >= full.latency.percentile(0.99));
}

#[test]
fn packets_of_one_flow_overtake_each_other_and_are_put_in_order() {
    // Each port sends to one other port, so that the packets of a flow follow each other closely.
    let permutation = |shape: Shape| {
        let ports = shape.port_count();
        let to = (0..ports).map(|from| (from + ports / 2 + 1) % ports).collect();
        let pattern = Pattern::Permutation(to);
        Traffic { pattern, arrivals: Arrivals::Independent { load: 0.15 }, ports: 0..ports }
    };
    let figures = run(64, 3, permutation, 1);
    assert!(figures.resequencing.percentile(1.0) > 0, "nothing overtook");
    assert!(figures.resequencing.mean() < figures.latency.mean());
}

#[test]
fn a_hot_spot_is_bounded_by_its_port_and_fills_the_others() {
    let hot = |shape: Shape| {
        let pattern = Pattern::HotSpot { port: 3, share: 0.5 };
        Traffic { pattern, arrivals: Arrivals::Independent { load: 0.1 }, ports: 0..shape.port_count() }
    };
    let (hot, even) = (run(16, 4, hot, 1), run(16, 4, uniform(Arrivals::Independent { load: 0.1 }), 1));
    // 64 ports offer 3.2 packets a slot to one port, which takes one.
    assert!(hot.accepted_per_port() * 64.0 < 2.5, "{}", hot.accepted_per_port());
    assert!(hot.latency.percentile(0.99) > 2 * even.latency.percentile(0.99));
}

#[test]
fn bursts_wait_longer_than_as_many_single_packets() {
    let single = run(32, 4, uniform(Arrivals::Independent { load: 0.1 }), 1);
    let bursts = run(32, 4, uniform(Arrivals::Bursts { load: 0.1, length: 16.0 }), 1);
    assert!((bursts.accepted_per_port() - 0.1).abs() < 0.02, "{}", bursts.accepted_per_port());
    assert!(bursts.waiting.mean() > 2.0 * single.waiting.mean());
}

#[test]
fn networks_side_by_side_carry_as_much_as_all_of_them() {
    let shape = Shape::new(16, 4).unwrap();
    let saturated = |count: usize| {
        let switches = (0..count).map(|_| Switch::new(shape, Permutation::Patent)).collect();
        let traffic = Traffic::uniform(shape.port_count(), Arrivals::Always);
        measure(&mut Parallel::new(switches, shape.port_count()), traffic.sources(1), SPAN)
            .accepted_per_port()
    };
    let one = saturated(1);
    for count in [2, 4, 16] {
        let part = saturated(count) / (count as f64 * one);
        assert!((0.97..1.03).contains(&part), "{count} networks: {part}");
    }
}

#[test]
fn a_trace_is_carried_packet_by_packet() {
    let shape = Shape::new(4, 2).unwrap();
    let text: String = (0..100).map(|slot| format!("{slot},{},{}\n", slot % 8, slot / 3 % 8)).collect();
    let trace = Trace::parse(&text, shape.port_count()).unwrap();
    let span = Span::new(0, 200);
    let figures = measure(&mut Switch::new(shape, Permutation::Patent), trace.sources(), span);
    assert_eq!((figures.offered, figures.latency.count()), (100, 100));
}
