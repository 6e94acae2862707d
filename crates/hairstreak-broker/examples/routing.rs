//! The cost of a route through a topic exchange, by the number of bindings, for keys that come again and for keys that
//! never do: `cargo run --release -p hairstreak-broker --example routing`.
//!
//! Binding number i is `stock.i.*` and leads to one of 64 queues. Keys that never repeat are `stock.i.c` with a binding i
//! at random and a counter c, so that each one is matched in the trie, mostly at nodes that no cache holds.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use hairstreak_broker::exchange::{ExchangeDeclaration, Exchanges, Routing};
use hairstreak_broker::queue::QueueId;
use hairstreak_wire::amqp::FieldTable;

const QUEUE_COUNT: u32 = 64;
/// Keys that are made together, and that come again if any do.
const BATCH_SIZE: usize = 1_000;
const BATCH_COUNT: usize = 500;
const RUN_COUNT: usize = 21;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let run_size = BATCH_SIZE * BATCH_COUNT;
    writeln!(out, "ns per route, median (least to most) of {RUN_COUNT} runs of {run_size} routes\n")?;
    writeln!(out, "{:>10}  {:>22}  {:>22}", "bindings", "repeated keys", "keys that never repeat")?;
    for binding_count in [100, 1_000, 100_000] {
        let mut bench = Bench::new(binding_count);
        let repeated = spread((0..RUN_COUNT).map(|_| bench.run_repeated()).collect());
        let unique = spread((0..RUN_COUNT).map(|_| bench.run_unique()).collect());
        writeln!(out, "{binding_count:>10}  {repeated:>22}  {unique:>22}")?;
    }
    Ok(())
}

struct Bench {
    exchanges: Exchanges,
    binding_count: usize,
    random: u64,
    counter: u64,
    targets: Vec<QueueId>,
}

impl Bench {
    fn new(binding_count: usize) -> Bench {
        let mut exchanges = Exchanges::new("/");
        let declaration = ExchangeDeclaration {
            name: (*b"x").into(),
            kind: (*b"topic").into(),
            ..ExchangeDeclaration::default()
        };
        // INVARIANT: the exchange is new and has a known type.
        exchanges.declare(&declaration).expect("the exchange is new");
        for number in 0..binding_count {
            let queue = QueueId(number as u32 % QUEUE_COUNT);
            let key = format!("stock.{number}.*");
            let bound = exchanges.bind_queue(b"x", queue, key.as_bytes(), &FieldTable::new());
            assert!(bound.is_ok(), "{bound:?}");
        }
        Bench { exchanges, binding_count, random: 1, counter: 0, targets: Vec::new() }
    }

    /// Nanoseconds for each of the keys that come again.
    fn run_repeated(&mut self) -> f64 {
        let keys: Vec<String> =
            (0..BATCH_SIZE).map(|_| format!("stock.{}.usd", self.any_binding())).collect();
        self.run(|_, batch| batch.clone_from(&keys))
    }

    /// Nanoseconds for each of the keys that never do.
    fn run_unique(&mut self) -> f64 {
        self.run(|bench, keys| {
            for key in keys {
                bench.counter += 1;
                *key = format!("stock.{}.{}", bench.any_binding(), bench.counter);
            }
        })
    }

    /// Keys are made in batches that fit into the processor's cache, as keys lie in what was read. Making them is not
    /// measured.
    fn run(&mut self, mut make_keys: impl FnMut(&mut Bench, &mut Vec<String>)) -> f64 {
        let (mut keys, mut time) = (vec![String::new(); BATCH_SIZE], Duration::ZERO);
        for _ in 0..BATCH_COUNT {
            make_keys(self, &mut keys);
            let start = Instant::now(); // tidy: allow(sans_io) an example measures
            for key in &keys {
                let message = Routing::new(b"x", key.as_bytes());
                let routed = self.exchanges.route(&message, &|_| 0, &mut self.targets);
                assert!(routed.is_ok() && self.targets.len() == 1);
                black_box(&self.targets);
            }
            time += start.elapsed();
        }
        time.as_nanos() as f64 / (BATCH_SIZE * BATCH_COUNT) as f64
    }

    fn any_binding(&mut self) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) as usize % self.binding_count
    }
}

fn spread(mut runs: Vec<f64>) -> String {
    runs.sort_by(f64::total_cmp);
    format!("{:.0} ({:.0} to {:.0})", runs[runs.len() / 2], runs[0], runs[runs.len() - 1])
}
