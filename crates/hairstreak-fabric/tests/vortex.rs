//! The Data Vortex switch against its equations, and the way of each packet.

use std::collections::HashMap;

use fastrand::Rng;
use hairstreak_fabric::vortex::{LIMIT, MeanField, Permutation, Port, Shape, Switch};

const SEED: u64 = 1;
/// Slots that pass before anything is counted.
const WARM_UP_SLOTS: u64 = 500;
/// Slots that are counted, times ports: so many that two runs differ by a few parts of a thousand.
const PORT_SLOTS: u64 = 1 << 20;
/// How far a switch may be below the equations, by angles.
const SHORTFALLS: [(u32, f64); 2] = [(1, 0.08), (5, 0.22)];
const HEIGHTS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];

fn any_port(shape: Shape, rng: &mut Rng) -> Port {
    shape.port(rng.u32(0..shape.port_count()))
}

/// The packets that each port accepts in a slot. All ports always have a packet, for any port.
fn saturated(heights: u32, angles: u32, permutation: Permutation) -> f64 {
    let shape = Shape::new(heights, angles).unwrap();
    let (mut switch, mut rng) = (Switch::new(shape, permutation), Rng::with_seed(SEED));
    let mut waiting = shape.ports().map(|from| (from, any_port(shape, &mut rng))).collect::<Vec<_>>();
    let slots = PORT_SLOTS / u64::from(shape.port_count());
    let mut before = 0;
    for slot in 0..WARM_UP_SLOTS + slots {
        if slot == WARM_UP_SLOTS {
            before = switch.counts().injected;
        }
        for (from, to) in &mut waiting {
            if switch.inject(*from, *to, ()).is_ok() {
                *to = any_port(shape, &mut rng);
            }
        }
        switch.step(|_| ());
    }
    (switch.counts().injected - before) as f64 / (slots * u64::from(shape.port_count())) as f64
}

fn equations(heights: u32, angles: u32) -> f64 {
    MeanField::saturated(Shape::new(heights, angles).unwrap()).accepted
}

#[test]
fn saturated_switches_stay_a_little_below_the_equations() {
    for (angles, shortfall) in SHORTFALLS {
        let mut before = f64::INFINITY;
        for heights in HEIGHTS {
            let found = saturated(heights, angles, Permutation::Patent);
            let expected = equations(heights, angles);
            let percent = 100.0 * (1.0 - found / expected);
            println!(
                "{heights} heights, {angles} angles: {found:.4}, equations {expected:.4}, {percent:.1}% less"
            );
            assert!(found < expected && found > (1.0 - shortfall) * expected, "{percent}% less");
            assert!(found < before, "{heights} heights accept more than fewer do");
            before = found;
        }
    }
}

#[test]
fn at_saturation_more_angles_accept_less() {
    for heights in [16, 64] {
        let found = [1, 2, 3, 4, 5, 6, 8].map(|angles| saturated(heights, angles, Permutation::Patent));
        assert!(found.is_sorted_by(|one, next| one > next), "{heights} heights: {found:?}");
    }
}

#[test]
fn flipping_the_bit_alone_accepts_less_from_eight_heights_on() {
    for angles in [1, 5] {
        for heights in HEIGHTS.into_iter().filter(|heights| *heights >= 8) {
            let [patent, flip] =
                [Permutation::Patent, Permutation::Flip].map(|rule| saturated(heights, angles, rule));
            let percent = 100.0 * (1.0 - flip / patent);
            println!(
                "{heights} heights, {angles} angles: patent {patent:.4}, flip {flip:.4}, {percent:.1}% less"
            );
            assert!(flip < patent, "{heights} heights, {angles} angles");
        }
    }
}

#[test]
fn the_equations_come_to_two_ninths_and_a_switch_stays_below() {
    let equations = equations(1 << 16, 1);
    assert!(equations > LIMIT && equations < 1.1 * LIMIT, "{equations}");
    assert!(saturated(256, 4, Permutation::Patent) < LIMIT);
}

#[test]
fn each_packet_arrives_once_at_its_port_with_its_payload() {
    let (patent, flip) = (Permutation::Patent, Permutation::Flip);
    for (heights, angles, permutation) in [(2, 1, patent), (8, 3, flip), (64, 5, patent), (128, 2, patent)] {
        let shape = Shape::new(heights, angles).unwrap();
        let (mut switch, mut rng) = (Switch::new(shape, permutation), Rng::with_seed(SEED));
        let (mut expected, mut number) = (HashMap::new(), 0_u64);
        for _ in 0..500 {
            for from in shape.ports() {
                let to = any_port(shape, &mut rng);
                if rng.bool() && switch.inject(from, to, number).is_ok() {
                    expected.insert(number, to);
                    number += 1;
                }
            }
            switch.step(|arrival| assert_eq!(expected.remove(&arrival.payload), Some(arrival.port)));
        }
        while switch.packet_count() > 0 {
            switch.step(|arrival| assert_eq!(expected.remove(&arrival.payload), Some(arrival.port)));
        }
        assert!(expected.is_empty() && number > 0);
        assert_eq!((switch.counts().injected, switch.counts().ejected), (number, number));
    }
}

#[test]
fn a_packet_alone_takes_the_hops_of_the_equations() {
    let shape = Shape::new(16, 5).unwrap();
    let mut slots = 0;
    for from in shape.ports() {
        for to in shape.ports() {
            let mut switch = Switch::new(shape, Permutation::Patent);
            switch.inject(from, to, ()).unwrap();
            while switch.packet_count() > 0 {
                switch.step(|arrival| slots += arrival.slots);
            }
            assert_eq!(switch.counts().deflections, 0);
        }
    }
    let mean = slots as f64 / f64::from(shape.port_count().pow(2));
    assert!((mean - MeanField::at(shape, 0.0).unwrap().hops).abs() < 1e-9, "{mean}");
}

#[test]
fn a_port_whose_node_is_taken_gets_its_packet_back() {
    let shape = Shape::new(2, 1).unwrap();
    let (low, high) = (Port { angle: 0, height: 0 }, Port { angle: 0, height: 1 });
    let mut switch = Switch::new(shape, Permutation::Patent);
    switch.inject(low, high, 'a').unwrap();
    assert_eq!(switch.inject(low, low, 'b'), Err('b'));
    // Its bit is wrong, and the packet goes to the other height of the ring.
    switch.step(|_| ());
    assert_eq!(switch.inject(high, low, 'c'), Err('c'));
    assert_eq!(switch.inject(low, low, 'd'), Ok(()));
}
