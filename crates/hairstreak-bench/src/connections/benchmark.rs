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

const LEGEND: &str = "\
Bytes are the server's memory for each connection. Idle is the processor time of a server without traffic, in per cent of a core. \
Round trips a second of one connection, alone and beside the others: at least 90% of the rate alone.";

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let rows = vec![relay(settings)?, node(settings, 1)?, node(settings, 0)?];
    let (window_count, window) = windows(settings);
    let mail = mail::measure(window_count, window)?;
    let report = Report {
        study: "connections",
        setting: Setting::new(Vec::new(), Vec::new()),
        about: "connections".to_owned(),
        tables: vec![
            Table { key: "rows", title: "", rows, legend: LEGEND },
            Table { key: "mail", title: "Letters between two event loops", rows: mail, legend: "" },
        ],
        conclusion: Vec::new(),
        charts: Vec::new(),
    };
    report.print(settings.json)
}

/// Returns the number of measurements, and the length of each.
fn windows(settings: &Settings) -> (u32, Duration) {
    if settings.quick { (3, Duration::from_millis(100)) } else { (5, Duration::from_secs(1)) }
}

/// Returns the figures of `count` connections that `open` opens beside the first ones, with the result of `beside`, which is
/// called while they are open. `idle` waits, and returns the number of PINGs that came.
fn measure_idle<T, B>(
    settings: &Settings,
    server: &Running,
    (name, bytes_target): (&str, f64),
    [first_count, count]: [usize; 2],
    open: impl FnOnce() -> Result<T>,
    beside: impl FnOnce() -> Result<B>,
    idle: impl Fn(&mut T, Duration) -> Result<Option<u64>>,
) -> Result<(Row, B)> {
    let before = server.resident_bytes()?;
    let start = Instant::now();
    let mut connections = open()?;
    let connects_per_s = count as f64 / start.elapsed().as_secs_f64();
    let beside = beside()?;
    idle(&mut connections, SETTLE_TIME)?;
    let memory = server.resident_bytes()?.saturating_sub(before);
    let cpu_before = server.cpu_s()?;
    let idle_s = if settings.quick { 5.0 } else { 30.0 };
    let ping_count = idle(&mut connections, Duration::from_secs_f64(idle_s))?;
    let idle_cpu_percent = 100.0 * (server.cpu_s()? - cpu_before) / idle_s;
    let pings_per_s = ping_count.map(|count| count as f64 / idle_s);
    let row = Row::default()
        .show("server", "server", Value::text(name))
        .show("connection_count", "connections", Value::count(first_count + count))
        .show("connects_per_s", "opened/s", Value::figure(connects_per_s, rate))
        .show("bytes_per_connection", "bytes", Value::figure(memory as f64 / count as f64, whole))
        .show("bytes_target", "at most", Value::figure(bytes_target, whole))
        .show("idle_cpu_percent", "idle", Value::figure(idle_cpu_percent, |cpu| format!("{cpu:.2}%")))
        .show("pings_per_s", "PINGs/s", Value::figure(pings_per_s, whole));
    Ok((row, beside))
}

/// Adds the round trips of one connection, alone and beside the others.
fn add_round_trips(row: Row, alone: Vec<f64>, beside: Vec<f64>) -> Row {
    let (alone, beside) = (Spread::of(alone), Spread::of(beside));
    let percent = beside.zip(alone).map(|(beside, alone)| 100.0 * beside.median / alone.median);
    row.show("alone_per_s", "alone/s", Value::spread(alone, whole))
        .show("beside_per_s", "beside/s", Value::spread(beside, whole))
        .show("beside_percent", "of alone", Value::percent(percent))
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn relay(settings: &Settings) -> Result<Row> {
    let far = TcpListener::bind("127.0.0.1:0")?;
    let server = Running::start(ServerKind::Relay(far.local_addr()?))?;
    let (window_count, window) = windows(settings);
    let mut way = Way::open(server.address, &far)?;
    let mut measure = || (0..window_count).map(|_| way.round_trips(window)).collect::<Result<Vec<f64>>>();
    let mut alone = measure()?;
    let way_count = (settings.connection_count / 2).saturating_sub(1).max(1);
    let open = || (0..way_count).map(|_| Way::open(server.address, &far)).collect::<Result<Vec<_>>>();
    let idle = |_: &mut Vec<Way>, time| {
        std::thread::sleep(time);
        Ok(None)
    };
    let counts = [2, 2 * way_count];
    let (row, beside) =
        measure_idle(settings, &server, ("relay", RELAY_BYTES_MAX), counts, open, &mut measure, idle)?;
    std::thread::sleep(SETTLE_TIME);
    // The machine drifts: before and after count as alone.
    alone.extend(measure()?);
    Ok(add_round_trips(row, alone, beside))
}

fn node(settings: &Settings, minor: u8) -> Result<Row> {
    let server = Running::start(ServerKind::Node)?;
    // The first connection of all allocates memory that is not counted here.
    let _first = Peers::connect(server.address, 1, minor)?;
    let count = settings.connection_count.max(2) - 1;
    let name = format!("node, ZMTP 3.{minor} peers");
    let open = || Peers::connect(server.address, count, minor);
    let idle = |peers: &mut Peers, time| peers.idle(time).map(Some);
    let (row, ()) =
        measure_idle(settings, &server, (&name, NODE_BYTES_MAX), [1, count], open, || Ok(()), idle)?;
    Ok(add_round_trips(row, Vec::new(), Vec::new()))
}
