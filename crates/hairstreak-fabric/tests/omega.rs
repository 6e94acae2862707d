//! The omega network against Patel's equation.

use hairstreak_fabric::Network;
use hairstreak_fabric::measure::{Cargo, Span, measure};
use hairstreak_fabric::omega::{Omega, accepted};
use hairstreak_fabric::traffic::{Arrivals, Traffic};

const SPAN: Span = Span::new(0, 2_000);

#[test]
fn uniform_traffic_is_accepted_as_patel_says() {
    for ports in [16, 64, 256] {
        for load in [0.25, 0.5, 1.0] {
            let mut omega = Omega::<Cargo>::new(ports, 1).unwrap();
            let traffic = Traffic::uniform(ports, Arrivals::Independent { load });
            let figures = measure(&mut omega, traffic.sources(1), SPAN);
            let found = figures.arrived_per_port();
            let expected = accepted(ports, load);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{ports} ports, load {load}: {found} of {expected}"
            );
            assert_eq!(figures.offered, figures.latency.count() + omega.lost_count());
        }
    }
}

#[test]
fn packets_without_conflict_all_arrive() {
    let mut omega = Omega::new(64, 1).unwrap();
    // A rotation of all ports has no conflict in an omega network.
    for shift in 0..64 {
        (0..64).for_each(|from| omega.inject(from, (from + shift) % 64, from).unwrap());
        let mut count = 0;
        omega.step(|to, from| {
            assert_eq!(to, (from + shift) % 64);
            count += 1;
        });
        assert_eq!((count, omega.lost_count()), (64, 0));
    }
}

#[test]
fn other_numbers_of_ports_are_refused_by_name() {
    let refused = Omega::<()>::new(12, 1).unwrap_err();
    assert_eq!(refused.to_string(), "12 ports: a power of two from 2 to 1048576 is needed");
}
