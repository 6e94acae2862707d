//! `QueueId` and `QueueKind`: the number of a queue, and the argument `x-queue-type`.

use hairstreak_wire::amqp::FieldTable;

/// A queue of a virtual host: the index into the table of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// The argument that names the kind. It may be missing where the default is meant.
pub(crate) const QUEUE_TYPE: &str = "x-queue-type";

/// The kind of a queue. One node keeps both alike; a quorum queue counts deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// A queue by default.
    Classic,
    /// A queue that is replicated where there are several nodes.
    Quorum,
}

impl QueueKind {
    /// All kinds.
    pub const ALL: [QueueKind; 2] = [QueueKind::Classic, QueueKind::Quorum];

    /// Returns the kind that valid arguments request. `None`: a stream.
    pub(crate) fn of(arguments: &FieldTable) -> Option<QueueKind> {
        match arguments.get(QUEUE_TYPE).and_then(|kind| kind.as_bytes()) {
            Some(b"quorum") => Some(QueueKind::Quorum),
            Some(b"stream") => None,
            _ => Some(QueueKind::Classic),
        }
    }

    /// The kind as the argument `x-queue-type` names it.
    pub fn name(self) -> &'static str {
        match self {
            QueueKind::Classic => "classic",
            QueueKind::Quorum => "quorum",
        }
    }

    /// RabbitMQ's name of the kind in its texts.
    pub(crate) fn module_name(self) -> &'static str {
        match self {
            QueueKind::Classic => "rabbit_classic_queue",
            QueueKind::Quorum => "rabbit_quorum_queue",
        }
    }
}
