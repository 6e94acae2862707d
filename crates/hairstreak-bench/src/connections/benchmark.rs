//! The benchmark: relay, then node with peers of both versions, then letters between loops.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;

use super::clients::{Peers, Way};
use super::mail;
use super::server::{Running, ServerKind};
use crate::frame::{Report, Row, Setting, Spread, Table, Value, rate};

/// The options of `hairstreak-bench connections`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Look at the idle servers for 5 s instead of 30
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Connections of each server; the process may have to be allowed as many descriptors and some more
    #[arg(long = "connections", value_name = "COUNT", default_value_t = 10_000)]
    pub connection_count: usize,
}

/// The time in which the server releases memory that it no longer needs.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// The targets for memory, in bytes a connection.
const RELAY_BYTES_MAX: f64 = 4096.0;
const NODE_BYTES_MAX: f64 = 3072.0;

/// Measures and prints.
const LEGEND: &str = "\
Bytes are the server's memory for each connection. Idle is the processor time of a server without traffic, in per cent of a core. \
Round trips a second of one connection, alone and beside the others: at least 90% of the rate alone.";

/// The figures of a server.
struct Case {
    server: &'static str,
    connection_count: usize,
    connects_per_s: f64,
    bytes_per_connection: f64,
    /// The most bytes that a connection may cost.
    bytes_target: f64,
    idle_cpu_percent: f64,
    /// PINGs of the node to its idle peers.
    pings_per_s: Option<f64>,
    /// Round trips of one connection.
    alone_per_s: Option<Spread>,
    beside_per_s: Option<Spread>,
}

impl Case {
    fn row(&self) -> Row {
        let whole = |value: f64| format!("{value:.0}");
        let both = self.beside_per_s.zip(self.alone_per_s);
        let beside_percent = both.map(|(beside, alone)| 100.0 * beside.median / alone.median);
        Row::default()
            .show("server", "server", Value::text(self.server))
            .show("connection_count", "connections", Value::count(self.connection_count))
            .show("connects_per_s", "opened/s", Value::figure(self.connects_per_s, rate))
            .show("bytes_per_connection", "bytes", Value::figure(self.bytes_per_connection, whole))
            .show("bytes_target", "at most", Value::figure(self.bytes_target, whole))
            .show(
                "idle_cpu_percent",
                "idle",
                Value::figure(self.idle_cpu_percent, |cpu| format!("{cpu:.2}%")),
            )
            .show("pings_per_s", "PINGs/s", Value::figure(self.pings_per_s, whole))
            .show("alone_per_s", "alone/s", Value::spread(self.alone_per_s, whole))
            .show("beside_per_s", "beside/s", Value::spread(self.beside_per_s, whole))
            .show("beside_percent", "of alone", Value::percent(beside_percent))
    }
}

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let setting = Setting::new(Vec::new(), Vec::new());
    let rows = [relay(settings)?, node(settings, 1)?, node(settings, 0)?];
    let (window_count, window) = windows(settings);
    let mail = mail::measure(window_count, window)?;
    let report = Report {
        study: "connections",
        setting,
        about: "connections".to_owned(),
        tables: vec![
            Table { key: "rows", title: "", rows: rows.iter().map(Case::row).collect(), legend: LEGEND },
            Table { key: "mail", title: "Letters between two event loops", rows: mail, legend: "" },
        ],
        conclusion: Vec::new(),
        charts: Vec::new(),
    };
    report.print(settings.json)
}

/// Returns the time for which the idle server is watched.
fn idle_time(settings: &Settings) -> Duration {
    Duration::from_secs(if settings.quick { 5 } else { 30 })
}

/// Returns the number of measurements, and the length of each.
fn windows(settings: &Settings) -> (u32, Duration) {
    if settings.quick { (3, Duration::from_millis(100)) } else { (5, Duration::from_secs(1)) }
}

fn relay(settings: &Settings) -> Result<Case> {
    let far = TcpListener::bind("127.0.0.1:0")?;
    let onward = far.local_addr()?;
    let server = Running::start(ServerKind::Relay(onward))?;
    let (window_count, window) = windows(settings);
    let measure = |way: &mut Way| {
        let windows = (0..window_count).map(|_| way.round_trips(window));
        windows.collect::<Result<Vec<f64>, _>>()
    };
    let mut good = Way::open(server.address, &far)?;
    let mut alone = measure(&mut good)?;

    let way_count = (settings.connection_count / 2).saturating_sub(1).max(1);
    let before = server.resident_bytes()?;
    let start = Instant::now();
    let ways = (0..way_count).map(|_| Way::open(server.address, &far));
    let ways = ways.collect::<Result<Vec<_>, _>>()?;
    let connects_per_s = (2 * way_count) as f64 / start.elapsed().as_secs_f64();
    let beside = measure(&mut good)?;
    std::thread::sleep(SETTLE_TIME);
    let memory = server.resident_bytes()?.saturating_sub(before);
    let cpu_before = server.cpu_s()?;
    let idle = idle_time(settings);
    std::thread::sleep(idle);
    let idle_cpu_s = server.cpu_s()? - cpu_before;
    drop(ways);
    std::thread::sleep(SETTLE_TIME);
    // The machine drifts: before and after count as alone.
    alone.extend(measure(&mut good)?);
    Ok(Case {
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

fn node(settings: &Settings, minor: u8) -> Result<Case> {
    let server = Running::start(ServerKind::Node)?;
    // The first connection of all allocates memory that is not counted here.
    let _first = Peers::connect(server.address, 1, minor)?;
    let count = settings.connection_count.max(2) - 1;
    let before = server.resident_bytes()?;
    let start = Instant::now();
    let mut peers = Peers::connect(server.address, count, minor)?;
    let connects_per_s = count as f64 / start.elapsed().as_secs_f64();
    peers.idle(SETTLE_TIME)?;
    let memory = server.resident_bytes()?.saturating_sub(before);
    let (cpu_before, pings_before) = (server.cpu_s()?, peers.ping_count);
    let idle = idle_time(settings);
    peers.idle(idle)?;
    let (idle_cpu_s, pings) = (server.cpu_s()? - cpu_before, peers.ping_count - pings_before);
    Ok(Case {
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
