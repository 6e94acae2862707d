//! The omega network against Patel's equation.

use fastrand::Rng;
use hairstreak_fabric::omega::{Omega, accepted};

const SLOTS: u32 = 2_000;

#[test]
fn uniform_traffic_is_accepted_as_patel_says() {
    for ports in [16, 64, 256] {
        for load in [0.25, 0.5, 1.0] {
            let (mut omega, mut rng) = (Omega::new(ports).unwrap(), Rng::with_seed(1));
            let mut arrived = 0;
            for _ in 0..SLOTS {
                let senders = (0..ports).filter(|_| rng.f64() < load).collect::<Vec<_>>();
                let packets = senders.into_iter().map(|from| (from, rng.u32(0..ports))).collect::<Vec<_>>();
                arrived += omega.pass(&packets, |_| rng.u32(0..2)).len();
            }
            let found = arrived as f64 / f64::from(SLOTS * ports);
            let expected = accepted(ports, load);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{ports} ports, load {load}: {found} of {expected}"
            );
        }
    }
}

#[test]
fn packets_without_conflict_all_arrive() {
    let mut omega = Omega::new(64).unwrap();
    // A rotation of all ports has no conflict in an omega network.
    for shift in 0..64 {
        let packets = (0..64).map(|from| (from, (from + shift) % 64)).collect::<Vec<_>>();
        assert_eq!(omega.pass(&packets, |_| unreachable!("no conflict")), packets);
    }
}

#[test]
fn other_numbers_of_ports_are_refused_by_name() {
    assert_eq!(
        Omega::new(12).unwrap_err().to_string(),
        "12 ports: a power of two from 2 to 1048576 is needed"
    );
}
