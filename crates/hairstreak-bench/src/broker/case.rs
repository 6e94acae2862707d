//! The cases: what flows in each, and what its figures count.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Queues of the cases that have several.
const FANOUT_QUEUE_COUNT: u32 = 10;
const SEVERAL_QUEUE_COUNT: u32 = 4;
/// Producers, and consumers, of one hot queue.
const HOT_CLIENT_COUNT: u32 = 4;
const CONFIRM_WINDOW: u32 = 500;
const ACK_EACH: u32 = 50;

/// A measured case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum CaseName {
    /// Transient messages into a queue that nobody consumes
    Publish,
    /// In and out, acknowledged by the broker itself
    InOut,
    /// In and out, a window of 500 confirms, each 50 deliveries acknowledged at once
    Confirms,
    /// Each message to 10 queues
    FanOut,
    /// One message at a time through a queue
    RoundTrip,
    /// 4 queues with a producer and a consumer each: what a message costs against one queue
    Queues,
    /// In and out at half of the peak rate: how long messages take
    Latency,
    /// Idle connections with a channel each
    Connections,
    /// In and out of good clients beside connections that harm the broker as far as it lets them
    Hostile,
    /// One queue with 4 producers and 4 consumers, by event loops of the node; only if it is asked for
    HotQueue,
}

/// How many clients and queues a row has, and how they acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Queues.
    pub queue_count: u32,
    /// Whether every message goes to every queue.
    pub is_fanout: bool,
    /// Connections that publish.
    pub producer_count: u32,
    /// Connections that consume.
    pub consumer_count: u32,
    /// Publishes that may be without their confirm.
    pub confirm_window: Option<u32>,
    /// Deliveries that are acknowledged at once.
    pub ack_each: Option<u32>,
}

impl CaseName {
    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::InOut => "in and out",
            Self::Confirms => "confirms",
            Self::FanOut => "fan-out",
            Self::RoundTrip => "round trip",
            Self::Queues => "4 queues",
            Self::Latency => "half of the peak",
            Self::Connections => "connections",
            Self::Hostile => "hostile load",
            Self::HotQueue => "hot queue",
        }
    }

    /// The unit of the rates.
    pub fn unit(self) -> &'static str {
        match self {
            Self::FanOut => "deliveries/s",
            Self::RoundTrip => "round trips/s",
            _ => "messages/s",
        }
    }

    /// Whether messages say when they were due, and the producer keeps to a rate.
    pub fn is_paced(self) -> bool {
        self == Self::Latency
    }

    /// Its clients and queues.
    pub fn shape(self) -> Shape {
        let one = Shape {
            queue_count: 1,
            is_fanout: false,
            producer_count: 1,
            consumer_count: 1,
            confirm_window: None,
            ack_each: None,
        };
        match self {
            Self::Publish => Shape { consumer_count: 0, ..one },
            Self::Confirms => Shape { confirm_window: Some(CONFIRM_WINDOW), ack_each: Some(ACK_EACH), ..one },
            Self::FanOut => Shape {
                queue_count: FANOUT_QUEUE_COUNT,
                is_fanout: true,
                consumer_count: FANOUT_QUEUE_COUNT,
                ..one
            },
            Self::Queues => Shape {
                queue_count: SEVERAL_QUEUE_COUNT,
                producer_count: SEVERAL_QUEUE_COUNT,
                consumer_count: SEVERAL_QUEUE_COUNT,
                ..one
            },
            Self::HotQueue => {
                Shape { producer_count: HOT_CLIENT_COUNT, consumer_count: HOT_CLIENT_COUNT, ..one }
            }
            Self::InOut | Self::RoundTrip | Self::Latency | Self::Connections | Self::Hostile => one,
        }
    }
}
