//! The fat tree: each packet arrives, the hops are those of the tree, and a single switch is the crossbar of the literature.

use hairstreak_fabric::Network;
use hairstreak_fabric::fat_tree::{FatTree, TreeError};
use hairstreak_fabric::measure::{Cargo, Span, measure};
use hairstreak_fabric::traffic::{Arrivals, Pattern, Traffic};

const SPAN: Span = Span::new(2_000, 20_000);

#[test]
fn each_packet_arrives_by_the_shortest_way() {
    let mut tree = FatTree::new(3, 3, 4).unwrap();
    for from in 0..27 {
        for to in 0..27 {
            tree.inject(from, to, from).unwrap();
            let mut slots = 0;
            while tree.packet_count() > 0 {
                slots += 1;
                tree.step(|at, payload| assert_eq!((at, payload), (to, from)));
            }
            // Up to the level where the paths meet, and down again.
            let meets = [from / 3 == to / 3, from / 9 == to / 9].iter().filter(|same| !**same).count();
            assert_eq!(slots, 2 * meets + 1, "{from} to {to}");
        }
    }
}

/// Karol, Hluchyj and Morgan, IEEE Transactions on Communications 35(12), 1987: a crossbar with FIFOs at its inputs. The figures are recalled.
#[test]
fn a_single_switch_has_the_throughput_of_a_crossbar_with_queues_at_its_inputs() {
    for (arity, expected) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        let mut tree = FatTree::<Cargo>::new(arity, 1, 64).unwrap();
        let figures = measure(&mut tree, Traffic::uniform(arity, Arrivals::Always).sources(1), SPAN);
        let found = figures.accepted_per_port();
        assert!((found / expected - 1.0).abs() < 0.02, "{arity} ports: {found}, the table has {expected}");
    }
}

#[test]
fn a_shift_by_a_leaf_passes_at_full_rate_and_keeps_its_order() {
    let mut tree = FatTree::<Cargo>::new(4, 3, 4).unwrap();
    let pattern = Pattern::Permutation((0..64).map(|from| (from + 4) % 64).collect());
    let traffic = Traffic { pattern, arrivals: Arrivals::Always, ports: 0..64 };
    let figures = measure(&mut tree, traffic.sources(1), Span::new(100, 1_000));
    assert!(figures.accepted_per_port() > 0.99, "{}", figures.accepted_per_port());
    assert_eq!(figures.resequencing.percentile(1.0), 0);
}

#[test]
fn memory_is_bounded_by_the_credits_and_a_hot_spot_fills_them() {
    let mut tree = FatTree::<Cargo>::new(4, 2, 4).unwrap();
    let traffic = Traffic {
        pattern: Pattern::HotSpot { port: 0, share: 0.5 },
        arrivals: Arrivals::Always,
        ports: 0..16,
    };
    let figures = measure(&mut tree, traffic.sources(1), SPAN);
    assert!(tree.packet_count() <= 2 * 4 * 8 * 4, "{}", tree.packet_count());
    // One host takes one packet a slot, and half of all are for that host.
    assert!(figures.accepted_per_port() * 16.0 < 2.2, "{}", figures.accepted_per_port());
}

#[test]
fn trees_that_cannot_be_are_refused_by_name() {
    assert_eq!(FatTree::<()>::new(1, 3, 4).unwrap_err(), TreeError::Size { arity: 1, levels: 3 });
    assert_eq!(FatTree::<()>::new(2, 0, 4).unwrap_err(), TreeError::Size { arity: 2, levels: 0 });
    assert_eq!(FatTree::<()>::new(2, 30, 4).unwrap_err(), TreeError::Size { arity: 2, levels: 30 });
    assert_eq!(FatTree::<()>::new(2, 2, 0).unwrap_err(), TreeError::NoBuffer);
    assert_eq!(FatTree::<()>::fdr(300).unwrap().port_count(), 324);
    assert!(FatTree::<()>::fdr(u32::MAX).is_err());
}
