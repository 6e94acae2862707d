//! The rows of hostile load: good clients send and receive messages, alone and beside the load, in turns.

use std::rc::Rc;

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

/// Measures each kind of load on `server`. Returns a row for each.
pub fn measure(
    server: &Rc<Running>,
    count: u32,
    plan: &Plan,
    conclusion: &mut Vec<String>,
) -> Result<Vec<Row>> {
    let sample = |case| {
        let scenario = Scenario { case, size: BODY_SIZE, loop_count: None };
        Subject { server: Rc::clone(server), scenario, sample_s: plan.sample_s, probe: None }.sample()
    };
    let kinds = kinds(server, count);
    let figures = take_turns("broker", plan.repeat_count, &kinds, |kind| {
        let alone = sample(CaseName::InOut)?.rate();
        let worked = kind.beside(|| {
            let beside = sample(CaseName::InOut)?.rate();
            let latency = if kind.is_elsewhere { sample(CaseName::RoundTrip)?.latency } else { None };
            Ok((beside, latency.map(|[.., p999_us]| p999_us / 1e3)))
        });
        let subject = || format!("{}, {}", kind.text(), server.kind.text());
        let ((beside, p999_ms), flood) = worked.with_context(subject)?;
        Ok([Some(alone), Some(beside), Some(100.0 * beside / alone), flood, p999_ms])
    })?;
    let mut rows = Vec::new();
    for (kind, figures) in kinds.iter().zip(figures) {
        let spread = |index: usize| Spread::of(figures.iter().filter_map(|figures| figures[index]));
        let [alone, beside, percent, flood, p999_ms] = [0, 1, 2, 3, 4].map(spread);
        let row = Row::default()
            .show("load", "load", Value::text(kind.text()))
            .show("contender", "whose", Value::text(server.kind.text()))
            .keep("n", Value::count(figures.len()))
            .show("alone", "alone", Value::spread(alone, rate))
            .show("beside", "beside", Value::spread(beside, rate))
            .show("percent", "per cent", Value::spread(percent, |percent| format!("{percent:.0}")))
            .show("flood_per_s", "flood/s", Value::spread(flood, rate))
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
