//! The cost of memory that is used for the first time: `cargo run --release -p hairstreak-base --example pages`.
//!
//! Each round fills a buffer on common pages and one on huge pages, twice each, and gives them back. Gigabytes a second. On a virtual machine
//! the first round after a rest is the slowest, because its host has to find the pages.

use std::error::Error;
use std::io::{Write, stdout};
use std::time::Instant;

use hairstreak_base::AppendBuffer;

const ROUNDS: usize = 4;
const SIZE: usize = 512 << 20;
const PIECE: [u8; 4096] = [7; 4096];

fn main() -> Result<(), Box<dyn Error>> {
    for round in 1..=ROUNDS {
        let common = fill_twice(AppendBuffer::new(SIZE));
        let huge = fill_twice(AppendBuffer::huge(SIZE));
        let of = |[first, again]: [f64; 2]| format!("{first:.2} first, {again:.2} again");
        writeln!(stdout(), "round {round}: common pages {}; huge pages {}", of(common), of(huge))?;
    }
    Ok(())
}

fn fill_twice(mut buffer: AppendBuffer) -> [f64; 2] {
    [(); 2].map(|()| {
        buffer.clear();
        let start = Instant::now();
        while buffer.len() < SIZE {
            buffer.append(&PIECE);
        }
        SIZE as f64 / start.elapsed().as_secs_f64() / 1e9
    })
}
