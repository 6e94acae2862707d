//! Which sizes and how many streams, by default, with `--quick` and with filters.

use crate::arguments::StreamsSettings;
use crate::sample::Transport;

const SIZES: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const STREAM_COUNTS: [u32; 4] = [1, 2, 3, 4];
const MESSAGE_COUNT: u64 = 1_000_000;
const MESSAGE_COUNT_QUICK: u64 = 100_000;
const REPEAT_COUNT: u32 = 3;
const REPEAT_COUNT_QUICK: u32 = 2;
/// Processor time needs longer samples than rates do: with `--quick` it gets this many times the messages.
const CONTROL_FACTOR_QUICK: u64 = 2;
/// Repeats of the controls, at least.
const CONTROL_REPEAT_COUNT: u32 = 7;

/// Over what the streams are measured.
pub const TRANSPORT: Transport = Transport::Tcp;
/// Over what processor time is compared.
pub const CONTROL_TRANSPORTS: [Transport; 3] = [Transport::Tcp, Transport::Shm, Transport::Inproc];
/// Bytes of the messages whose processor time is compared.
pub const CONTROL_SIZE: usize = 8;

/// Everything to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Bytes per message, ascending.
    pub sizes: Vec<usize>,
    /// Streams at the same time, ascending.
    pub stream_counts: Vec<usize>,
    /// Messages of each stream.
    pub message_count: u64,
    /// Samples of each size and number of streams, per contender.
    pub repeat_count: u32,
    /// Messages of each stream of a control.
    pub control_message_count: u64,
    /// Samples of each control.
    pub control_repeat_count: u32,
}

impl Plan {
    /// The plan for `settings`.
    pub fn new(settings: &StreamsSettings) -> Self {
        let (message_count, repeat_count, factor) = match settings.quick {
            true => (MESSAGE_COUNT_QUICK, REPEAT_COUNT_QUICK, CONTROL_FACTOR_QUICK),
            false => (MESSAGE_COUNT, REPEAT_COUNT, 1),
        };
        let message_count = settings.message_count.unwrap_or(message_count);
        let repeat_count = settings.repeats.unwrap_or(repeat_count);
        Self {
            sizes: chosen(&settings.sizes, &SIZES),
            stream_counts: chosen(&settings.stream_counts, &STREAM_COUNTS),
            message_count,
            repeat_count,
            control_message_count: message_count * factor,
            control_repeat_count: repeat_count.max(CONTROL_REPEAT_COUNT),
        }
    }
}

fn chosen(asked: &[u32], default: &[u32]) -> Vec<usize> {
    let mut values: Vec<usize> =
        if asked.is_empty() { default } else { asked }.iter().map(|&value| value as usize).collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Plan;
    use crate::arguments::{Arguments, Benchmark};

    fn plan(options: &str) -> Plan {
        let line = format!("hairstreak-bench streams {options}");
        match Arguments::parse_from(line.split_whitespace()).benchmark {
            Benchmark::Streams(settings) => Plan::new(&settings),
            other => panic!("not the benchmark: {other:?}"),
        }
    }

    #[test]
    fn the_full_plan_is_that_of_the_source() {
        let plan = plan("");
        assert_eq!(plan.sizes, (0..=10).map(|power| 1 << power).collect::<Vec<usize>>());
        assert_eq!(plan.stream_counts, [1, 2, 3, 4]);
        assert_eq!((plan.message_count, plan.repeat_count), (1_000_000, 3));
        assert_eq!((plan.control_message_count, plan.control_repeat_count), (1_000_000, 7));
    }

    #[test]
    fn the_quick_plan_has_the_same_rows_of_fewer_messages() {
        let (full, quick) = (plan(""), plan("--quick"));
        assert_eq!((&quick.sizes, &quick.stream_counts), (&full.sizes, &full.stream_counts));
        assert!(quick.message_count * 10 <= full.message_count);
        assert!(quick.control_repeat_count >= 7);
    }

    #[test]
    fn filters_are_put_in_order() {
        let plan = plan("--size 64,8,64 --streams 4,1 --repeat 9 --messages 500");
        assert_eq!((plan.sizes, plan.stream_counts), (vec![8, 64], vec![1, 4]));
        assert_eq!((plan.message_count, plan.repeat_count, plan.control_repeat_count), (500, 9, 9));
    }
}
