//! Published properties of the Data Vortex that can be repeated here.
//!
//! Hawkins and Wills, Journal of Lightwave Technology 24(9), 2006: packets that enter and leave at one of six angles are accepted nearly
//! always, and more angles gain nothing. Hawkins, Small, Wills and Bergman, IEEE TPDS 18(3), 2007: at half load that is twice what a
//! butterfly without buffers accepts.

use fastrand::Rng;
use hairstreak_fabric::omega::accepted;
use hairstreak_fabric::vortex::{Permutation, Port, Shape, Switch};

const SLOTS: u32 = 5_000;
const HALF: f64 = 0.5;

/// The part of the packets that is accepted if they enter and leave at one angle, `load` in each slot at each height. A packet
/// whose node is taken is lost.
fn accepted_at_one_angle(heights: u32, angles: u32, load: f64) -> f64 {
    let shape = Shape::new(heights, angles).unwrap();
    let (mut switch, mut rng) = (Switch::new(shape, Permutation::Patent), Rng::with_seed(1));
    let mut offered = 0_u32;
    for _ in 0..SLOTS {
        for height in (0..heights).filter(|_| rng.f64() < load).collect::<Vec<_>>() {
            let to = Port { angle: 0, height: rng.u32(0..heights) };
            offered += 1;
            // Lost, as the publications count.
            let _ = switch.inject(Port { angle: 0, height }, to, ());
        }
        switch.step(|_| ());
    }
    switch.counts().injected as f64 / f64::from(offered)
}

#[test]
fn at_half_load_six_angles_accept_nearly_all_and_more_angles_gain_nothing() {
    for heights in [16, 64, 256] {
        let [five, six, eight] = [5, 6, 8].map(|angles| accepted_at_one_angle(heights, angles, HALF));
        println!("{heights} heights: 5 angles {five:.4}, 6 angles {six:.4}, 8 angles {eight:.4}");
        assert!(six > 0.99, "{heights} heights: {six}");
        assert!(eight - six < 0.01, "{heights} heights: {six} and {eight}");
    }
}

#[test]
fn at_half_load_an_omega_network_accepts_about_half_as_much() {
    for ports in [64, 256] {
        let ratio = accepted_at_one_angle(ports, 6, HALF) / (accepted(ports, HALF) / HALF);
        println!("{ports} ports: {ratio:.2} times an omega network");
        assert!((1.75..2.25).contains(&ratio), "{ports} ports: {ratio}");
    }
}
