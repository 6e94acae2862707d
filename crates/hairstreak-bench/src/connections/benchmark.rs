//! The benchmark: relay, then node with peers of both versions, then letters between loops.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::clients::Way;
use super::error::{ConnectionsError, failed};
use super::mail;
use super::peers::Peers;
use super::report::{Report, Row};
use super::server::{Running, ServerKind};
use crate::arguments::{ConnectionsSettings, RivalSettings};
use crate::run::Run;
use crate::statistics::Spread;

/// What the server does with memory that it needs no more is done by then.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// The targets for memory, in bytes a connection.
const RELAY_BYTES_MAX: f64 = 4096.0;
const NODE_BYTES_MAX: f64 = 3072.0;

/// Measures and prints.
pub fn run(settings: &ConnectionsSettings) -> Result<(), ConnectionsError> {
    let run = Run::new(&RivalSettings { no_rival: true, libzmq: String::new() });
    let rows = vec![relay(settings)?, node(settings, 1)?, node(settings, 0)?];
    let (window_count, window) = windows(settings);
    let mail = mail::measure(window_count, window)?;
    let report = Report { run, rows, mail };
    if settings.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.render());
    }
    Ok(())
}

/// How long the server is watched while nothing happens.
fn idle_time(settings: &ConnectionsSettings) -> Duration {
    Duration::from_secs(if settings.quick { 5 } else { 30 })
}

/// How often something is measured, and for how long each time.
fn windows(settings: &ConnectionsSettings) -> (u32, Duration) {
    if settings.quick { (3, Duration::from_millis(100)) } else { (5, Duration::from_secs(1)) }
}

fn relay(settings: &ConnectionsSettings) -> Result<Row, ConnectionsError> {
    let failed_to = failed("a connection through the relay");
    let far = TcpListener::bind("127.0.0.1:0").map_err(&failed_to)?;
    let onward = far.local_addr().map_err(&failed_to)?;
    let server = Running::start(ServerKind::Relay, Some(onward))?;
    let (window_count, window) = windows(settings);
    let measure = |way: &mut Way| {
        let windows = (0..window_count).map(|_| way.round_trips(window));
        windows.collect::<Result<Vec<f64>, _>>()
    };
    let mut good = Way::open(server.address, &far).map_err(&failed_to)?;
    let mut alone = measure(&mut good).map_err(&failed_to)?;

    let way_count = (settings.connection_count / 2).saturating_sub(1).max(1);
    let before = server.resident_bytes()?;
    let start = Instant::now();
    let ways = (0..way_count).map(|_| Way::open(server.address, &far));
    let ways = ways.collect::<Result<Vec<_>, _>>().map_err(&failed_to)?;
    let connects_per_s = (2 * way_count) as f64 / start.elapsed().as_secs_f64();
    let beside = measure(&mut good).map_err(&failed_to)?;
    std::thread::sleep(SETTLE_TIME);
    let memory = server.resident_bytes()?.saturating_sub(before);
    let cpu_before = server.cpu_s()?;
    let idle = idle_time(settings);
    std::thread::sleep(idle);
    let idle_cpu_s = server.cpu_s()? - cpu_before;
    drop(ways);
    std::thread::sleep(SETTLE_TIME);
    // The machine drifts: before and after count as alone.
    alone.extend(measure(&mut good).map_err(&failed_to)?);
    Ok(Row {
        server: "relay",
        connection_count: 2 * (way_count + 1),
        connects_per_s,
        bytes_per_connection: memory as f64 / (2 * way_count) as f64,
        bytes_target: RELAY_BYTES_MAX,
        idle_cpu_percent: 100.0 * idle_cpu_s / idle.as_secs_f64(),
        pings_per_s: None,
        alone_per_s: Spread::of(alone),
        beside_per_s: Spread::of(beside),
    })
}

fn node(settings: &ConnectionsSettings, minor: u8) -> Result<Row, ConnectionsError> {
    let failed_to = failed("a peer of the node");
    let server = Running::start(ServerKind::Node, None)?;
    // What the first of all needs is there already.
    let _first = Peers::connect(server.address, 1, minor).map_err(&failed_to)?;
    let count = settings.connection_count.max(2) - 1;
    let before = server.resident_bytes()?;
    let start = Instant::now();
    let mut peers = Peers::connect(server.address, count, minor).map_err(&failed_to)?;
    let connects_per_s = count as f64 / start.elapsed().as_secs_f64();
    peers.idle(SETTLE_TIME).map_err(&failed_to)?;
    let memory = server.resident_bytes()?.saturating_sub(before);
    let (cpu_before, pings_before) = (server.cpu_s()?, peers.ping_count);
    let idle = idle_time(settings);
    peers.idle(idle).map_err(&failed_to)?;
    let (idle_cpu_s, pings) = (server.cpu_s()? - cpu_before, peers.ping_count - pings_before);
    Ok(Row {
        server: if minor == 0 { "node, ZMTP 3.0 peers" } else { "node, ZMTP 3.1 peers" },
        connection_count: count + 1,
        connects_per_s,
        bytes_per_connection: memory as f64 / count as f64,
        bytes_target: NODE_BYTES_MAX,
        idle_cpu_percent: 100.0 * idle_cpu_s / idle.as_secs_f64(),
        pings_per_s: Some(pings as f64 / idle.as_secs_f64()),
        alone_per_s: None,
        beside_per_s: None,
    })
}
