//! The properties and limits that the node proposes to AMQP clients, and [`Tuned`], the limits that both sides agreed on.
//! docs/amqp.md has the reasons.

use std::time::Duration;

use hairstreak_wire::amqp::{FRAME_OVERHEAD, FRAME_SIZE_MIN, FieldTable, FieldValue, Tuning};

pub(super) const LOCALES: &[u8] = b"en_US";

/// The limits that the server proposes, as RabbitMQ does.
pub(super) const TUNING: Tuning = Tuning { channel_max: 2047, frame_max: 131_072, heartbeat: 60 };

/// Clients take their richer behaviour with this product and a version of its last permissive series.
const PRODUCT: &str = "RabbitMQ";
const VERSION: &str = "3.13.7";

/// The capabilities that clients check.
const CAPABILITIES: [&str; 9] = [
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "consumer_priorities",
    "authentication_failure_close",
    "per_consumer_qos",
    "direct_reply_to",
];

/// The properties of connection.start.
pub(super) fn server_properties() -> FieldTable {
    let capabilities: FieldTable = CAPABILITIES.iter().map(|name| (name, true)).collect();
    let platform = concat!("Hairstreak ", env!("CARGO_PKG_VERSION"));
    let texts = [
        ("cluster_name", "hairstreak@localhost"),
        ("copyright", "The Hairstreak authors"),
        ("information", "Apache-2.0 or MIT"),
        ("platform", platform),
        ("product", PRODUCT),
        ("version", VERSION),
    ];
    let mut table: FieldTable = texts.iter().map(|(name, text)| (name, FieldValue::from(*text))).collect();
    table.insert("capabilities", capabilities);
    table
}

/// The limits that both sides agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuned {
    pub channel_max: u16,
    /// Header and end included.
    pub frame_size_max: usize,
    /// None: no heartbeats.
    pub heartbeat: Option<Duration>,
}

impl Tuned {
    /// The limits before the client and the server have agreed.
    pub const BEFORE: Tuned = Tuned { channel_max: 0, frame_size_max: FRAME_SIZE_MIN, heartbeat: None };

    /// The most bytes of a body in one frame.
    pub fn frame_body_max(&self) -> usize {
        self.frame_size_max - FRAME_OVERHEAD
    }
}
