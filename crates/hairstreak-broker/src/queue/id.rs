//! `QueueId`: the number of a queue.

/// A queue of a virtual host: the index into the table of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u32);
