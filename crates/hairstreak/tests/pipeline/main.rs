//! Pipelines whose parts die: each result comes once, all parts learn of the end, none hangs.
//!
//! Workers and sinks that are killed are processes: this test binary, started again to run `part::the_part` alone.

#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;

mod bounds;
mod deadlines;
mod deaths;
mod groups;
mod letters;
mod links;
mod memory;
mod network;
mod part;
mod refusals;
mod rejections;
mod shares;
mod sinks;
mod stages;
mod store;
mod ventilators;
mod work;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hairstreak::pipeline::{PipelineOptions, Sink, Ventilator};

/// Longer than anything here takes. A wait this long is in vain.
const LONG: Duration = Duration::from_secs(60);

/// Returns an endpoint of this test alone, for a part that is started again there. The system gives its port to no
/// outgoing connection.
fn place() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    format!("tcp://127.{}.{}.{next}:5557", 1 + process / 250 % 250, 1 + process % 250)
}

/// Opens a ventilator and its sink, on any ports.
fn ends(options: &PipelineOptions) -> (Ventilator, Sink) {
    let ventilator = Ventilator::bind("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", options).unwrap();
    let sink = Sink::bind("tcp://127.0.0.1:*", &ventilator.control_endpoint().to_string(), options).unwrap();
    (ventilator, sink)
}
