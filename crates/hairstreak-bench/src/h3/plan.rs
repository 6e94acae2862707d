//! The plan: the options, and Table 1 of the paper, scaled to a duration and to the memory of the hosts.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::contender::{Broker, Contender, Target, Transport};
use super::data::{HEADER_SIZE, Time};
use crate::broker::RABBITMQ_PROGRAM;
use crate::frame::number_in;

/// Table 1 of the paper: bytes of a message, messages of a run, runs. Cells that the paper leaves blank have the value above.
const TABLE_1: [(usize, u64, u32); 15] = [
    (8, 20_000_000, 2),
    (16, 20_000_000, 2),
    (32, 20_000_000, 2),
    (64, 20_000_000, 2),
    (128, 20_000_000, 2),
    (256, 20_000_000, 2),
    (512, 20_000_000, 2),
    (1024, 20_000_000, 2),
    (2048, 10_000_000, 2),
    (4096, 10_000_000, 2),
    (8192, 10_000_000, 2),
    (16_384, 4_000_000, 4),
    (32_768, 3_000_000, 4),
    (65_536, 1_700_000, 6),
    (131_072, 600_000, 8),
];
/// A run with fewer windows is marked.
pub const WINDOWS_MIN: usize = 100;
/// Windows that senders go on for: the two nodes do not begin and end together.
const WINDOWS_SENT: u64 = 110;
const WINDOW_NS: u64 = 10_000_000;
/// At scales up to this one, windows are short and each size has one run.
const SMALL_SCALE: f64 = 0.01;
const SMALL_WINDOW_NS: u64 = 2_000_000;
/// A window of the fabric's own time, at each scale: a card sends at most 213 kB in a window.
const FABRIC_WINDOW_NS: u64 = 50_000;
/// Every bit of a vortex run goes through a simulated switch: it has this part of the others' messages.
pub const VORTEX_SCALE: f64 = 0.1;
/// Memory for a message beside its body: in a queue of our node, and in one of RabbitMQ. Both are bounds of ours, above the
/// figures that were seen.
const NODE_OVERHEAD: u64 = 256;
const RABBITMQ_OVERHEAD: u64 = 2048;
/// Memory is prepared for this number of bytes a nanosecond and node. No transport is faster.
const RATE_BYTES_PER_NS: u64 = 16;
/// No RabbitMQ takes more messages a millisecond and node: messages in buffers beyond that would only prolong a run.
const RABBITMQ_COUNT_PER_MS: u64 = 200;
const NS_PER_MS: u64 = 1_000_000;

/// The options of `hairstreak-bench h3`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Messages of a run, in parts of the paper's counts; up to 0.01 each size has one run, with windows of 2 ms instead of 10
    #[arg(long, default_value = "0.001", value_parser = number_in(1e-6..=10.0))]
    pub scale: f64,
    /// Only these sizes of Table 1 in bytes [default: all, 8 to 131072 by powers of two]
    #[arg(long = "size", value_delimiter = ',', value_parser = size)]
    pub sizes: Vec<usize>,
    /// Only these transports [default: all]
    #[arg(long = "transport", value_enum, value_delimiter = ',')]
    pub transports: Vec<Transport>,
    /// Only the queues of these brokers [default: hairstreak, and rabbitmq if it is installed]
    #[arg(long = "broker", value_enum, value_delimiter = ',')]
    pub brokers: Vec<Broker>,
    /// An agent that runs already: sender=ADDRESS:PORT or receiver=ADDRESS:PORT, up to two of each [default: processes on this host]
    #[arg(long = "host", value_name = "ROLE=ADDRESS", value_parser = host)]
    pub hosts: Vec<(Side, SocketAddr)>,
    /// Memory for the messages of a run, in MiB [default: a quarter of the available memory of the smallest host]
    #[arg(long = "memory", value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub memory_mib: Option<u64>,
    /// Directory of h3.html, h3.json and h3.csv
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub out: String,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// The script that starts RabbitMQ on this host
    #[arg(long, value_name = "PROGRAM", default_value = RABBITMQ_PROGRAM)]
    pub rabbitmq: String,
}

/// The options of `hairstreak-bench h3-agent`.
#[derive(Clone, Debug, Args)]
pub struct AgentSettings {
    /// The address for controllers. Any program that reaches this address can have this host send, receive and start brokers
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7700")]
    pub bind: SocketAddr,
    /// The script that starts RabbitMQ on this host
    #[arg(long, value_name = "PROGRAM", default_value = RABBITMQ_PROGRAM)]
    pub rabbitmq: String,
}

/// The side of the cluster that a host is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// It sends.
    Sender,
    /// It receives.
    Receiver,
}

fn size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| TABLE_1.iter().any(|row| row.0 == *size));
    size.ok_or_else(|| "a power of two from 8 to 131072".to_owned())
}

fn host(text: &str) -> Result<(Side, SocketAddr), String> {
    let parts = text.split_once('=').map(|(side, address)| (Side::from_str(side, false), address.parse()));
    let Some((Ok(side), Ok(address))) = parts else {
        return Err("a host is sender=ADDRESS:PORT or receiver=ADDRESS:PORT, where an agent listens".into());
    };
    Ok((side, address))
}

/// Number and duration of the messages.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The asked scale.
    pub scale: f64,
    /// Bytes that the messages of a run may have on both nodes together.
    pub memory_bytes: u64,
    /// Length of a window in nanoseconds of the host's time.
    wall_window_ns: u64,
    /// The sizes.
    pub rows: Vec<Row>,
}

/// A row of Table 1 as it is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Bytes of a message.
    pub size: usize,
    /// Messages of a run in the paper.
    pub paper_count: u64,
    /// The scale of the count: the asked one, or less where memory is short.
    pub scale: f64,
    /// Messages of a run at this scale, on both nodes together.
    pub count: u64,
    /// Runs.
    pub runs: u32,
}

/// The messages of one sender: their size, number and duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes of a message.
    pub size: usize,
    /// The seed. No two senders or runs have the same messages.
    pub seed: u64,
    /// The least number.
    pub count_min: u64,
    /// The largest number, for any duration.
    pub count_max: u64,
    /// The shortest duration, in nanoseconds of `time`.
    pub duration_ns: u64,
    /// The time of the duration.
    pub time: Time,
}

impl Flow {
    /// Returns whether `count` messages in `elapsed_ns` are enough.
    pub fn is_over(&self, count: u64, elapsed_ns: u64) -> bool {
        count >= self.count_max || (count >= self.count_min && elapsed_ns >= self.duration_ns)
    }
}

impl Plan {
    /// Table 1 at `scale` in `memory_bytes`, those sizes of it that are among `sizes`; without any, all.
    pub fn new(scale: f64, memory_bytes: u64, sizes: &[usize]) -> Plan {
        let is_small = scale <= SMALL_SCALE;
        let rows = TABLE_1.iter().filter(|(size, ..)| sizes.is_empty() || sizes.contains(size));
        let row = |&(size, paper_count, runs): &(usize, u64, u32)| {
            let fits = memory_bytes / (size + HEADER_SIZE) as u64;
            let count = ((paper_count as f64 * scale).round() as u64).min(fits).max(2);
            let scale = if count < fits { scale } else { count as f64 / paper_count as f64 };
            Row { size, paper_count, scale, count, runs: if is_small { 1 } else { runs } }
        };
        let wall_window_ns = if is_small { SMALL_WINDOW_NS } else { WINDOW_NS };
        Plan { scale, memory_bytes, wall_window_ns, rows: rows.map(row).collect() }
    }

    /// Bytes that the messages of a run may have on each node.
    pub fn node_bytes(&self) -> u64 {
        self.memory_bytes / 2
    }

    /// Length of a window in nanoseconds of that time.
    pub fn window_ns(&self, time: Time) -> u64 {
        if time == Time::Fabric { FABRIC_WINDOW_NS } else { self.wall_window_ns }
    }

    /// The messages of a sender in a run of `row`.
    pub fn flow(&self, row: Row, contender: Contender) -> Flow {
        let time = contender.time();
        let (size, duration_ns) = (row.size as u64, WINDOWS_SENT * self.window_ns(time));
        let part = if contender.transport == Transport::Vortex { VORTEX_SCALE } else { 1.0 };
        let scaled = (row.count as f64 * part) as u64;
        // Beside the fitting number, the largest number of messages that anything takes in this time.
        let (overhead, carried) = match contender.target {
            Target::Across => {
                (HEADER_SIZE as u64, RATE_BYTES_PER_NS * duration_ns / (size + HEADER_SIZE as u64))
            }
            Target::Hairstreak => (NODE_OVERHEAD, u64::MAX),
            Target::Rabbitmq | Target::RabbitmqLoopback => {
                (RABBITMQ_OVERHEAD, RABBITMQ_COUNT_PER_MS * duration_ns / NS_PER_MS)
            }
        };
        let fits = (self.node_bytes() / (size + overhead)).max(1);
        let count_min = (scaled / 2).clamp(1, fits);
        let count_max = fits.min(carried.max(count_min));
        Flow { size: row.size, seed: fastrand::u64(..), count_min, count_max, duration_ns, time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn counts_are_the_papers_times_the_scale() {
        let plan = Plan::new(0.001, 64 * GIB, &[]);
        let counts: Vec<u64> = plan.rows.iter().map(|row| row.count).collect();
        assert_eq!(counts[..9], [20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 10_000]);
        assert_eq!(counts[9..], [10_000, 10_000, 4_000, 3_000, 1_700, 600]);
        assert!(plan.rows.iter().all(|row| row.scale == 0.001));
    }

    #[test]
    fn small_scales_have_one_run_and_short_windows_and_larger_ones_the_papers() {
        let check = |scale, window_ns, runs: [u32; 2]| {
            let plan = Plan::new(scale, 64 * GIB, &[8, 131_072]);
            let found: Vec<u32> = plan.rows.iter().map(|row| row.runs).collect();
            let windows = (plan.window_ns(Time::Wall), plan.window_ns(Time::Fabric));
            assert_eq!((windows, &found[..]), ((window_ns, 50_000), &runs[..]), "{scale}");
        };
        check(0.01, 2_000_000, [1, 1]);
        check(0.011, 10_000_000, [2, 8]);
        check(1.0, 10_000_000, [2, 8]);
    }

    #[test]
    fn memory_bounds_the_scale_and_the_row_says_to_what() {
        let plan = Plan::new(1.0, GIB, &[8, 131_072]);
        assert_eq!((plan.rows[0].scale, plan.rows[0].count), (1.0, 20_000_000));
        assert_eq!(plan.rows[1].count, GIB / 131_076);
        assert!((plan.rows[1].scale - 0.01365).abs() < 1e-5, "{}", plan.rows[1].scale);
    }

    #[test]
    fn no_run_has_more_bytes_than_its_share_of_memory() {
        for memory in [GIB / 16, GIB, 64 * GIB] {
            let plan = Plan::new(1.0, memory, &[]);
            for &row in &plan.rows {
                for (target, overhead) in
                    [(Target::Across, 4), (Target::Hairstreak, 256), (Target::RabbitmqLoopback, 2048)]
                {
                    let flow = plan.flow(row, Contender { transport: Transport::Tcp, target });
                    assert!(flow.count_min <= flow.count_max, "{flow:?}");
                    assert!(2 * flow.count_max * (row.size as u64 + overhead) <= memory, "{flow:?}");
                }
            }
        }
    }

    #[test]
    fn a_run_goes_on_for_more_windows_than_it_needs() {
        let plan = Plan::new(0.001, GIB, &[8]);
        let flow = |transport| plan.flow(plan.rows[0], Contender { transport, target: Target::Across });
        let windows = |transport, time| flow(transport).duration_ns as f64 / plan.window_ns(time) as f64;
        assert!(windows(Transport::Shm, Time::Wall) > WINDOWS_MIN as f64);
        assert!(windows(Transport::Vortex, Time::Fabric) > WINDOWS_MIN as f64);
        let counts = [Transport::Tcp, Transport::Vortex].map(|transport| flow(transport).count_min);
        assert_eq!(counts, [10_000, 1_000]);
    }

    #[test]
    fn a_host_is_a_side_and_an_address() {
        let address = "10.0.0.2:7700".parse().unwrap();
        assert_eq!(host("receiver=10.0.0.2:7700"), Ok((Side::Receiver, address)));
        for wrong in ["10.0.0.2:7700", "broker=10.0.0.2:7700", "sender=10.0.0.2", "sender=host:7700"] {
            assert!(host(wrong).unwrap_err().starts_with("a host is "), "{wrong}");
        }
    }
}
