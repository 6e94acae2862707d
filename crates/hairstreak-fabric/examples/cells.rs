//! How many cells a second cards exchange on a simulated Data Vortex: `cargo run --release -p hairstreak-fabric --example cells`. Each card puts words
//! into memories at random, as fast as the network takes them; one core; median and range of seven. Rates in slots and in seconds are
//! different things: the first is the network's, the second that of this simulation.

use std::error::Error;
use std::io::{Write, stdout};
use std::time::Instant;

use fastrand::Rng;
use hairstreak_fabric::Parallel;
use hairstreak_fabric::card::{CardLimits, PutWord, SimulatedCards, Vic};
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};

const REPEATS: usize = 7;
const CELLS: u64 = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    for (heights, angles, lanes) in [(4, 2, 1), (16, 4, 1), (16, 4, 16), (64, 4, 1), (256, 4, 1)] {
        let shape = Shape::new(heights, angles)?;
        let mut rates = Vec::new();
        let mut slots = 0;
        for _ in 0..REPEATS {
            let (rate, passed) = rate(shape, lanes)?;
            rates.push(rate);
            slots = passed;
        }
        rates.sort_unstable_by(f64::total_cmp);
        let [least, median, most] = [rates[0], rates[REPEATS / 2], rates[REPEATS - 1]];
        let per_slot = CELLS as f64 / slots as f64 / f64::from(shape.port_count());
        writeln!(
            stdout(),
            "{lanes} x {heights} heights, {angles} angles: {median:.2} M cells/s [{least:.2}-{most:.2}], {per_slot:.3} cells a card and slot"
        )?;
    }
    Ok(())
}

/// Millions of cells a second, and the slots that they took.
fn rate(shape: Shape, lanes: u32) -> Result<(f64, u64), Box<dyn Error>> {
    let size = shape.port_count();
    let switches = (0..lanes).map(|_| Switch::new(shape, Permutation::Patent)).collect();
    let mut cards = SimulatedCards::new(Parallel::new(switches, size), size, CardLimits::default())?;
    let mut rng = Rng::with_seed(1);
    let start = Instant::now();
    while cards.counts().arrived < CELLS {
        for rank in 0..size {
            let word = PutWord { address: rng.u32(..1 << 16), word: rng.u64(..), counter: None };
            let to = rng.u32(..size);
            for _ in 0..lanes {
                // What has no room is lost: it does not matter which words there are.
                let _ = cards.card(rank).put(to, &[word]);
            }
        }
        cards.step();
    }
    Ok((cards.counts().arrived as f64 / start.elapsed().as_secs_f64() / 1e6, cards.slot()))
}
