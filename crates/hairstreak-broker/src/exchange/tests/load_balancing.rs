//! The type load_balancing.

use super::bench::{Bench, NOWHERE};
use crate::exchange::{Cacheable, Routing};

fn routes(bench: &mut Bench, count: usize) -> Vec<u32> {
    (0..count).flat_map(|_| bench.route("x", "any")).collect()
}

#[test]
fn equals_take_turns() {
    let mut bench = Bench::bound("load_balancing", &["", "", ""]);
    assert_eq!(routes(&mut bench, 7), [0, 1, 2, 0, 1, 2, 0]);
    bench.loads = vec![5, 5, 5];
    assert_eq!(routes(&mut bench, 4), [1, 2, 0, 1]);
}

#[test]
fn the_least_load_is_chosen() {
    let mut bench = Bench::bound("load_balancing", &["", "", ""]);
    bench.loads = vec![3, 1, 2];
    assert_eq!(routes(&mut bench, 3), [1, 1, 1]);
    bench.loads = vec![1, 3, 1];
    assert_eq!(routes(&mut bench, 3), [2, 0, 2]);
}

#[test]
fn one_queue_is_chosen_whatever_comes_and_goes() {
    let mut bench = Bench::bound("load_balancing", &["", "", ""]);
    assert_eq!(routes(&mut bench, 3), [0, 1, 2]);
    bench.unbind("x", 2, "");
    bench.unbind("x", 1, "");
    assert_eq!(routes(&mut bench, 2), [0, 0]);
    bench.unbind("x", 0, "");
    assert_eq!(routes(&mut bench, 1), NOWHERE);
}

#[test]
fn a_choice_is_never_cacheable() {
    let mut bench = Bench::bound("load_balancing", &[""]);
    assert_eq!(bench.try_route(&Routing::new(b"x", b"")).unwrap().1, Cacheable::No);
    // A route that leads to it is not cacheable either.
    bench.declare("y", "topic");
    bench.bind_exchange("x", "y", "#");
    assert_eq!(bench.try_route(&Routing::new(b"y", b"")).unwrap(), (vec![0], Cacheable::No));
}
