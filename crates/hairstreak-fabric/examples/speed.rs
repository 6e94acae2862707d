//! How fast a Data Vortex is stepped: `cargo run --release -p hairstreak-fabric --example speed`. Saturated uniform traffic on one core, in millions
//! of node updates (nodes with a packet, summed over the slots) a second; median and range of seven.

use std::error::Error;
use std::io::{Write, stdout};
use std::time::Instant;

use fastrand::Rng;
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};

const REPEATS: usize = 7;
const NODE_UPDATES: u64 = 20_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    for (heights, angles) in [(16, 5), (64, 5), (256, 4), (1024, 4)] {
        let shape = Shape::new(heights, angles)?;
        let mut rates: Vec<f64> = (0..REPEATS).map(|_| rate(shape)).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let [least, median, most] = [rates[0], rates[REPEATS / 2], rates[REPEATS - 1]];
        writeln!(stdout(), "{heights} heights, {angles} angles: {median:.0} M/s [{least:.0}-{most:.0}]")?;
    }
    Ok(())
}

fn rate(shape: Shape) -> f64 {
    let (mut switch, mut rng) = (Switch::new(shape, Permutation::Patent), Rng::with_seed(1));
    let mut waiting: Vec<_> = shape.ports().map(|from| (from, from)).collect();
    let start = Instant::now();
    while switch.counts().node_updates < NODE_UPDATES {
        for (from, to) in &mut waiting {
            if switch.inject(*from, *to, ()).is_ok() {
                *to = shape.port(rng.u32(0..shape.port_count()));
            }
        }
        switch.step(|_| ());
    }
    switch.counts().node_updates as f64 / start.elapsed().as_secs_f64() / 1e6
}
