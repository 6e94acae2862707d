//! Idle connections, each with a channel: the memory that the broker takes for them.
//!
//! The broker is a fresh one: memory that other cases left behind would take the connections in.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::amqp::Link;
use super::conclusion::verdicts;
use super::server::{Running, ServerKind};
use crate::frame::{Row, Value, rate};

/// Threads that open connections.
const OPENER_COUNT: u32 = 8;
/// A broker frees unneeded memory within this time.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// The number of connections of the targets, which are in MiB for all of them.
const TARGET_COUNT: u32 = 10_000;
const TARGETS_MIB: [f64; 2] = [60.0, 30.0];

/// Opens `count` connections and looks at `server` meanwhile. Returns a row if the server's process is known.
pub fn measure(server: &Running, count: u32, conclusion: &mut Vec<String>) -> Result<Option<Row>> {
    let subject = || format!("a connection to {}", server.kind.text());
    // The first connection makes the broker allocate memory that all connections share.
    let _first = Link::open(server.address).with_context(subject)?;
    thread::sleep(SETTLE_TIME);
    let Some(before) = server.memory("VmRSS")? else { return Ok(None) };
    let start = Instant::now();
    let links = thread::scope(|scope| {
        let shares = (0..OPENER_COUNT).map(|index| (count + index) / OPENER_COUNT);
        let open = |share| {
            move || (0..share).map(|_| Link::open_small(server.address)).collect::<Result<Vec<_>, _>>()
        };
        let openers: Vec<_> = shares.map(|share| scope.spawn(open(share))).collect();
        let links = openers.into_iter().map(|opener| {
            let links = opener.join().map_err(|_| anyhow!("a thread of this process panicked"))?;
            links.with_context(subject)
        });
        links.collect::<Result<Vec<Vec<Link>>>>()
    })?;
    let connects_per_s = f64::from(count) / start.elapsed().as_secs_f64();
    thread::sleep(SETTLE_TIME);
    let memory_bytes = server.memory("VmRSS")?.unwrap_or_default().saturating_sub(before);
    drop(links);
    let row = Row::default()
        .show("contender", "whose", Value::text(server.kind.text()))
        .show("connections", "connections", Value::count(count))
        .show("memory_bytes", "memory", Value::memory(memory_bytes))
        .show("bytes_per_connection", "each", Value::figure(memory_bytes as f64 / f64::from(count), kib))
        .show("connects_per_s", "opened/s", Value::figure(connects_per_s, rate));
    conclusion.extend((server.kind == ServerKind::Node).then(|| judge(count, memory_bytes)).flatten());
    Ok(Some(row))
}

fn kib(bytes: f64) -> String {
    format!("{:.1} KiB", bytes / 1024.0)
}

/// Compares the memory of our node for `count` connections with the targets.
fn judge(count: u32, memory_bytes: u64) -> Option<String> {
    let found = memory_bytes as f64 / f64::from(1 << 20);
    let verdicts = verdicts(TARGETS_MIB, " MiB", |wanted| found <= wanted);
    let text = format!("{count} idle connections: {found:.1} MiB, {verdicts}.");
    (count == TARGET_COUNT).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn connections_are_judged_if_there_are_as_many_as_the_target_says() {
        let sentence = "10000 idle connections: 40.0 MiB, target 60 MiB: reached; goal 30 MiB: missed.";
        assert_eq!(judge(10_000, 40 << 20).as_deref(), Some(sentence));
        assert_eq!(judge(1_000, 40 << 20), None);
    }
}
