//! The options of the study, its sizes and its numbers of streams: by default, with `--quick`, and with filters.

use clap::Args;

use crate::frame::{Common, RivalOptions, sorted};
use crate::sample::{Calls, CaseName, ContenderName, Subject, Transport};

/// The options of `hairstreak-bench streams`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// The directory of the charts, streams-messages.svg and streams-megabits.svg
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub out: String,
    /// Only these message sizes in bytes [default: 1 to 1024 by powers of two]
    #[arg(long = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub sizes: Vec<u32>,
    /// Only these numbers of streams [default: 1,2,3,4]
    #[arg(long = "streams", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub stream_counts: Vec<u32>,
    /// Messages of each stream
    #[arg(long = "messages", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub message_count: Option<u64>,
    /// Sampling and output.
    #[command(flatten)]
    pub common: Common,
    /// The rival.
    #[command(flatten)]
    pub rival: RivalOptions,
}

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

/// The transport of the streams.
pub const TRANSPORT: Transport = Transport::Tcp;
/// The transports whose processor time is compared.
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
    libzmq: String,
}

impl Plan {
    /// The plan for `settings`.
    pub fn new(settings: &Settings) -> Self {
        let is_quick = settings.common.quick;
        let message_count = if is_quick { MESSAGE_COUNT_QUICK } else { MESSAGE_COUNT };
        let message_count = settings.message_count.unwrap_or(message_count);
        let repeat_count = settings.common.repeat_count(REPEAT_COUNT, REPEAT_COUNT_QUICK);
        let counts = |given: &[u32], default: &[u32]| {
            sorted(given, default).into_iter().map(|count| count as usize).collect()
        };
        Self {
            sizes: counts(&settings.sizes, &SIZES),
            stream_counts: counts(&settings.stream_counts, &STREAM_COUNTS),
            message_count,
            repeat_count,
            control_message_count: message_count * if is_quick { CONTROL_FACTOR_QUICK } else { 1 },
            control_repeat_count: repeat_count.max(CONTROL_REPEAT_COUNT),
            libzmq: settings.rival.libzmq.clone(),
        }
    }

    /// A contender with streams of as many messages as those of a case have.
    pub fn subject(
        &self,
        contender: ContenderName,
        transport: Transport,
        size: usize,
        stream_count: usize,
    ) -> Subject {
        let (case, calls, libzmq) = (CaseName::Throughput, Calls::One, self.libzmq.clone());
        let message_count = self.message_count;
        Subject { case, transport, size, calls, contender, stream_count, message_count, libzmq }
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use crate::frame::parse;

    fn plan(options: &str) -> Plan {
        Plan::new(&parse(options))
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
