//! Pipelines whose parts die: each result comes once, everybody learns of the end, nobody hangs.
//!
//! Workers and sinks that are killed are processes: this test binary, started again to run `part::the_part` alone.

#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;

mod deaths;
mod part;
mod work;

use std::time::Duration;

use hairstreak::pipeline::{PipelineOptions, Sink, Ventilator};

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);

/// A ventilator and its sink, on any ports.
fn ends(options: &PipelineOptions) -> (Ventilator, Sink) {
    let ventilator = Ventilator::bind("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", options).unwrap();
    let sink = Sink::bind("tcp://127.0.0.1:*", &ventilator.control_endpoint().to_string(), options).unwrap();
    (ventilator, sink)
}
