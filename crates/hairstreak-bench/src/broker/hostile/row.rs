//! A row of hostile load: good clients send and receive messages, alone and beside the load, in turns.

use serde::Serialize;

use super::super::amqp::AmqpError;
use super::super::case::CaseName;
use super::super::plan::Row;
use super::super::sample::{SampleError, Subject};
use super::super::server::{Running, ServerKind};
use super::load::{Load, LoadKind};
use crate::statistics::Spread;

/// The bytes of a body.
const BODY_SIZE: u32 = 16;
/// The part of their rate that good clients must keep, in per cent.
pub const PERCENT_WANTED: f64 = 90.0;
/// The longest time that 999 of 1000 of their round trips may take beside an attack from another virtual host, in milliseconds.
pub const P999_MS_WANTED: f64 = 50.0;

/// The figures of a good producer and its consumer beside one kind of load.
#[derive(Debug, Serialize)]
pub struct HostileRow {
    /// `hairstreak` or `RabbitMQ`.
    pub contender: &'static str,
    /// The name of the load.
    pub load: String,
    /// How often both samples were taken.
    pub n: usize,
    /// Messages per second, alone.
    pub alone: Spread,
    /// Messages per second, beside the load.
    pub beside: Spread,
    /// The rate beside the load, in per cent of the rate alone just before.
    pub percent: Spread,
    /// Malformed frames, channels, lists or steps of an attack per second, if the load is a flood.
    pub flood_per_s: Option<Spread>,
    /// The 99.9th percentile of the round trips of good clients beside an attack from another virtual host, in milliseconds.
    pub round_trip_p999_ms: Option<Spread>,
    /// The measured broker.
    #[serde(skip)]
    pub kind: ServerKind,
}

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum HostileError {
    /// A sample failed.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The load could not connect, or the broker stopped a flood.
    #[error("{load}, {broker}: {error}")]
    Load {
        /// The load.
        load: String,
        /// The broker.
        broker: &'static str,
        /// Why.
        error: AmqpError,
    },
}

/// Measures each kind of load `repeat_count` times.
pub fn measure(
    server: &Running,
    idle_count: u32,
    repeat_count: u32,
    sample_s: f64,
) -> Result<Vec<HostileRow>, HostileError> {
    let row = Row { case: CaseName::InOut, size: BODY_SIZE, loop_count: None };
    let subject = Subject { server, row, sample_s, client_cores: None };
    let mut rates: Vec<_> = LoadKind::of(server).map(|kind| (kind, Vec::new())).collect();
    for repeat in 1..=repeat_count {
        for (kind, rates) in &mut rates {
            let text = kind.text(idle_count);
            eprintln!("broker {repeat}/{repeat_count}: in and out beside {text}, {}", server.kind.text());
            let failed = |error| HostileError::Load { load: text.clone(), broker: server.kind.text(), error };
            let alone = subject.sample()?.rate();
            let load = Load::start(*kind, server, idle_count).map_err(failed)?;
            let beside = subject.sample()?.rate();
            let p999_ms = if kind.is_elsewhere() {
                let row = Row { case: CaseName::RoundTrip, ..row };
                let latency = Subject { row, ..subject }.sample()?.latency;
                latency.map(|latency| latency.p999_us / 1e3)
            } else {
                None
            };
            rates.push((alone, beside, p999_ms, load.end().map_err(failed)?));
        }
    }
    let rows = rates.iter().filter_map(|(kind, rates)| {
        Some(HostileRow {
            contender: server.kind.text(),
            load: kind.text(idle_count),
            n: rates.len(),
            alone: Spread::of(rates.iter().map(|(alone, ..)| *alone))?,
            beside: Spread::of(rates.iter().map(|(_, beside, ..)| *beside))?,
            percent: Spread::of(rates.iter().map(|(alone, beside, ..)| 100.0 * beside / alone))?,
            flood_per_s: Spread::of(rates.iter().filter_map(|(.., flood)| *flood)),
            round_trip_p999_ms: Spread::of(rates.iter().filter_map(|(_, _, p999_ms, _)| *p999_ms)),
            kind: server.kind,
        })
    });
    Ok(rows.collect())
}
