//! Published properties of the Data Vortex that can be repeated here.
//!
//! Hawkins and Wills, Journal of Lightwave Technology 24(9), 2006: packets that enter and leave at one of six angles are accepted nearly
//! always, and more angles gain nothing. Hawkins, Small, Wills and Bergman, IEEE TPDS 18(3), 2007: at half load that is twice what a
//! butterfly without buffers accepts.

use hairstreak_fabric::measure::{Span, measure};
use hairstreak_fabric::omega::accepted;
use hairstreak_fabric::traffic::{Arrivals, Traffic};
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};

const SLOTS: u64 = 5_000;
const HALF: f64 = 0.5;

/// The part of the packets that is accepted if they enter and leave at one angle, `load` in each slot at each height. A packet
/// whose node is taken is lost, as the publications count.
fn accepted_at_one_angle(heights: u32, angles: u32, load: f64) -> f64 {
    let shape = Shape::new(heights, angles).unwrap();
    let traffic = Traffic::uniform(heights, Arrivals::Independent { load });
    let span = Span { waiting_max: 0, ..Span::new(0, SLOTS) };
    let figures = measure(&mut Switch::new(shape, Permutation::Patent), traffic.sources(1), span);
    assert_eq!(figures.accepted.iter().sum::<u64>() + figures.refused, figures.offered);
    1.0 - figures.refused as f64 / figures.offered as f64
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
