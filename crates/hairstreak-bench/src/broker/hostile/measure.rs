//! The rows of hostile load: good clients send and receive messages, alone and beside the load, in turns.

use anyhow::{Context, Result};

use super::super::conclusion::verdict;
use super::super::plan::{CaseName, Plan, Scenario};
use super::super::sample::Subject;
use super::super::server::{Running, ServerKind};
use super::load::kinds;
use crate::frame::{Row, Spread, Value, rate, take_turns};

/// The bytes of a body.
const BODY_SIZE: u32 = 16;
/// The part of their rate that good clients must keep, in per cent.
const PERCENT_WANTED: f64 = 90.0;
/// The longest time that 999 of 1000 of their round trips may take beside an attack from another virtual host, in milliseconds.
const P999_MS_WANTED: f64 = 50.0;

/// The figures of a producer and its consumer beside one kind of load.
struct Figures {
    alone_per_s: f64,
    beside_per_s: f64,
    /// Malformed frames, channels, lists or steps of an attack per second, if the load is a flood.
    flood_per_s: Option<f64>,
    /// The 99.9th percentile of round trips beside an attack from another virtual host, in milliseconds.
    p999_ms: Option<f64>,
}

/// Measures each kind of load on `server`. Returns a row for each.
pub fn measure(server: &Running, count: u32, plan: &Plan, conclusion: &mut Vec<String>) -> Result<Vec<Row>> {
    let sample = |case| {
        let scenario = Scenario { case, size: BODY_SIZE, loop_count: None };
        Subject { server, scenario, sample_s: plan.sample_s }.sample()
    };
    let kinds = kinds(server, count);
    let figures = take_turns("broker", plan.repeat_count, &kinds, |kind| {
        let subject = || format!("{}, {}", kind.text(), server.kind.text());
        let alone_per_s = sample(CaseName::InOut)?.rate();
        let load = kind.start().with_context(subject)?;
        let beside_per_s = sample(CaseName::InOut)?.rate();
        let latency = if kind.is_elsewhere { sample(CaseName::RoundTrip)?.latency } else { None };
        let p999_ms = latency.map(|latency| latency.p999_us / 1e3);
        Ok(Figures { alone_per_s, beside_per_s, p999_ms, flood_per_s: load.end().with_context(subject)? })
    })?;
    let mut rows = Vec::new();
    for (kind, figures) in kinds.iter().zip(figures) {
        let spread = |of: fn(&Figures) -> Option<f64>| Spread::of(figures.iter().filter_map(of));
        let percent = spread(|one| Some(100.0 * one.beside_per_s / one.alone_per_s));
        let p999_ms = spread(|one| one.p999_ms);
        let row = Row::default()
            .show("load", "load", Value::text(kind.text()))
            .show("contender", "whose", Value::text(server.kind.text()))
            .keep("n", Value::count(figures.len()))
            .show("alone", "alone", Value::spread(spread(|one| Some(one.alone_per_s)), rate))
            .show("beside", "beside", Value::spread(spread(|one| Some(one.beside_per_s)), rate))
            .show("percent", "per cent", Value::spread(percent, |percent| format!("{percent:.0}")))
            .show("flood_per_s", "flood/s", Value::spread(spread(|one| one.flood_per_s), rate))
            .show(
                "round_trip_p999_ms",
                "round trip p99.9 ms",
                Value::spread(p999_ms, |ms| format!("{ms:.1}")),
            );
        rows.push(row);
        if server.kind == ServerKind::Node {
            conclusion.extend(judge(&kind.text(), percent, p999_ms));
        }
    }
    Ok(rows)
}

/// Attackers in another virtual host use the processors, too: their load must only not hold good clients up.
fn judge(load: &str, percent: Option<Spread>, p999_ms: Option<Spread>) -> Option<String> {
    if let Some(Spread { median, .. }) = p999_ms {
        let verdict = verdict(median <= P999_MS_WANTED);
        let target = format!("target {P999_MS_WANTED} ms: {verdict}");
        return Some(format!("beside {load}: round trips of {median:.1} ms (p99.9), {target}."));
    }
    let found = percent?.median;
    let verdict = verdict(found >= PERCENT_WANTED);
    Some(format!("beside {load}: {found:.0}% of the rate, target {PERCENT_WANTED}%: {verdict}."))
}
