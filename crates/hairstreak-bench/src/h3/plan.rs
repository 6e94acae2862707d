//! The plan: Table 1 of the paper, scaled to a duration and to the memory of the hosts.

use super::contender::{Target, Transport};
use super::data::{HEADER_SIZE, Time};

/// Table 1 of the paper: bytes of a message, messages of a run, runs. Cells that the paper leaves blank have the value above.
pub const TABLE_1: [(usize, u64, u32); 15] = [
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
/// Memory for a message beside its body: in a queue of our node, and in one of RabbitMQ. Both are bounds of ours, above what was seen.
const NODE_OVERHEAD: u64 = 256;
const RABBITMQ_OVERHEAD: u64 = 2048;
/// No transport is faster: memory is made ready for so many bytes a nanosecond and node.
const RATE_BYTES_PER_NS: u64 = 16;

/// No RabbitMQ takes more messages a millisecond and node: what lay in buffers beyond that would only prolong a run.
const RABBITMQ_COUNT_PER_MS: u64 = 200;
const NS_PER_MS: u64 = 1_000_000;

/// How long and how much is sent.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The asked scale.
    pub scale: f64,
    /// Bytes that the messages of a run may have on each node.
    pub node_bytes: u64,
    /// Length of a window in nanoseconds of the host's time.
    pub wall_window_ns: u64,
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

/// How many messages a sender sends, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// At least so many.
    pub count_min: u64,
    /// At most so many, whatever the duration.
    pub count_max: u64,
    /// At least so long, in nanoseconds.
    pub duration_ns: u64,
    /// In this time.
    pub time: Time,
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
        Plan {
            scale,
            node_bytes: memory_bytes / 2,
            wall_window_ns: if is_small { SMALL_WINDOW_NS } else { WINDOW_NS },
            rows: rows.map(row).collect(),
        }
    }

    /// Length of a window in nanoseconds of that time.
    pub fn window_ns(&self, time: Time) -> u64 {
        match time {
            Time::Wall => self.wall_window_ns,
            Time::Fabric => FABRIC_WINDOW_NS,
        }
    }

    /// How much each sender sends in a run of `row` across `transport` to `target`.
    pub fn extent(&self, row: Row, transport: Transport, target: Target) -> Extent {
        let time = transport.time(target);
        let (size, duration_ns) = (row.size as u64, WINDOWS_SENT * self.window_ns(time));
        let scaled = match transport {
            Transport::Vortex => (row.count as f64 * VORTEX_SCALE) as u64,
            Transport::Tcp | Transport::Shm => row.count,
        };
        let overhead = match target {
            Target::Across => HEADER_SIZE as u64,
            Target::Hairstreak => NODE_OVERHEAD,
            Target::Rabbitmq | Target::RabbitmqLoopback => RABBITMQ_OVERHEAD,
        };
        let fits = (self.node_bytes / (size + overhead)).max(1);
        let count_min = (scaled / 2).clamp(1, fits);
        let count_max = match target {
            Target::Across => {
                let carried = RATE_BYTES_PER_NS * duration_ns / (size + overhead);
                fits.min(carried.max(count_min))
            }
            Target::Hairstreak => fits,
            Target::Rabbitmq | Target::RabbitmqLoopback => {
                fits.min((RABBITMQ_COUNT_PER_MS * duration_ns / NS_PER_MS).max(count_min))
            }
        };
        Extent { count_min, count_max, duration_ns, time }
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
                    let extent = plan.extent(row, Transport::Tcp, target);
                    assert!(extent.count_min <= extent.count_max, "{extent:?}");
                    assert!(2 * extent.count_max * (row.size as u64 + overhead) <= memory, "{extent:?}");
                }
            }
        }
    }

    #[test]
    fn a_run_goes_on_for_more_windows_than_it_needs() {
        let plan = Plan::new(0.001, GIB, &[8]);
        let extent = |transport| plan.extent(plan.rows[0], transport, Target::Across);
        let windows = |transport, time| extent(transport).duration_ns as f64 / plan.window_ns(time) as f64;
        assert!(windows(Transport::Shm, Time::Wall) > WINDOWS_MIN as f64);
        assert!(windows(Transport::Vortex, Time::Fabric) > WINDOWS_MIN as f64);
        let counts = [Transport::Tcp, Transport::Vortex].map(|transport| extent(transport).count_min);
        assert_eq!(counts, [10_000, 1_000]);
    }
}
