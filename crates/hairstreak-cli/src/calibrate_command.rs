//! `hairstreak calibrate`: the figures of this machine, and the work for which a split pays.

use std::fmt::Write;
use std::fs;

use hairstreak::calibration::{
    Calibration, SPLIT_WORK_MAX, Split, Transport, break_even, calibrate as measure, measure_splits,
};
use serde::Serialize;

use crate::arguments::CalibrateArguments;
use crate::failure::Failure;
use crate::numbers::{grouped, rate, time};
use crate::output;
use crate::output::{row, table};

/// A gain of half over the monolith.
const HALF_MORE: f64 = 1.5;

/// The JSON object.
#[derive(Serialize)]
struct CalibrateOutput<'a> {
    cores: u32,
    wake_up_ns: u128,
    tcp: Vec<LinkOutput>,
    splits: &'a [Split],
}

#[derive(Serialize)]
struct LinkOutput {
    size: u64,
    send_alone_ns: f64,
    receive_alone_ns: f64,
    send_ns: f64,
    receive_ns: f64,
    latency_ns: f64,
}

pub fn calibrate(arguments: &CalibrateArguments) -> Result<(), Failure> {
    let repeat = arguments.repeat as usize;
    let machine = measure(repeat).map_err(Failure::failed)?;
    if let Some(file) = &arguments.output {
        let text = format!("# Written by hairstreak calibrate --repeat {repeat}\n{}", machine.to_toml());
        let written = fs::write(file, text);
        written.map_err(|error| Failure::failed(format!("cannot write {}: {error}", file.display())))?;
    }
    let splits = match arguments.no_splits {
        true => Vec::new(),
        false => measure_splits(repeat).map_err(Failure::failed)?,
    };
    if arguments.json {
        let tcp = machine.links.costs().iter().map(|cost| LinkOutput {
            size: cost.size,
            send_alone_ns: cost.send_alone_ns,
            receive_alone_ns: cost.receive_alone_ns,
            send_ns: cost.send_ns,
            receive_ns: cost.receive_ns,
            latency_ns: cost.latency_ns,
        });
        let output = CalibrateOutput {
            cores: machine.cores,
            wake_up_ns: machine.wake_up.as_nanos(),
            tcp: tcp.collect(),
            splits: &splits,
        };
        let text = serde_json::to_string_pretty(&output).map_err(Failure::failed)?;
        return output::print(&format!("{text}\n"));
    }
    let mut text = figures(&machine);
    if !splits.is_empty() {
        text.push_str(&describe_splits(&splits, machine.cores));
    }
    let _ = writeln!(text, "\nEach figure is the median of {}.", grouped(arguments.repeat));
    output::print(&text)
}

fn figures(machine: &Calibration) -> String {
    let ns = |ns: f64| time(ns / 1e9);
    let mut rows = vec![row(["tcp, bytes", "send alone", "receive alone", "send", "receive", "latency"])];
    for cost in machine.links.costs() {
        rows.push(vec![
            grouped(cost.size),
            ns(cost.send_alone_ns),
            ns(cost.receive_alone_ns),
            ns(cost.send_ns),
            ns(cost.receive_ns),
            ns(cost.latency_ns),
        ]);
    }
    format!(
        "{} cores; a sleeper wakes up {} late.\n\nTime on a core for each message:\n{}",
        machine.cores,
        time(machine.wake_up.as_secs_f64()),
        table(&rows)
    )
}

/// Formats the rates as multiples of the monolith's rate, for each work and transport: the median, then the range.
fn describe_splits(splits: &[Split], cores: u32) -> String {
    let mut rows = vec![row(["work", "one thread", "inproc", "shm", "ipc", "tcp"])];
    for split in splits {
        let mut cells = vec![time(split.work_us as f64 / 1e6), rate(Some(split.monolith_per_s))];
        cells.extend(
            split
                .rates
                .iter()
                .map(|rate| format!("{:.2} ({:.2}-{:.2})", rate.times, rate.times_min, rate.times_max)),
        );
        rows.push(cells);
    }
    let mut text = format!(
        "\nTwo stages of half the work each, as a multiple of one thread's rate:\n{}\n",
        table(&rows)
    );
    let longest = time(SPLIT_WORK_MAX.as_secs_f64());
    let from = |transport, times| break_even(splits, transport, times).map(|us| time(us as f64 / 1e6));
    for transport in Transport::ALL {
        // Writing to a string does not fail.
        let _ = match (from(transport, 1.0), from(transport, HALF_MORE)) {
            (Some(pays), Some(half)) => {
                writeln!(
                    text,
                    "A split over {transport} pays from {pays} a message on, and gains half from {half} on."
                )
            }
            (Some(pays), None) => writeln!(text, "A split over {transport} pays from {pays} a message on."),
            (None, _) => writeln!(text, "A split over {transport} does not pay up to {longest} a message."),
        };
    }
    if cores < 2 {
        text.push_str("There is one core: two stages only share it.\n");
    }
    text
}
