//! `QueueDeclaration` and `ConsumerDeclaration`: requests of clients, and `QueueStatus`: the state of a queue in the answer.

use hairstreak_wire::amqp::{EncodedTable, FieldTable};

/// A queue as a client declares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDeclaration {
    /// The name; empty: the virtual host chooses one.
    pub name: Box<[u8]>,
    /// True if the queue survives a restart of the node.
    pub is_durable: bool,
    /// True if only the declaring connection may use the queue. The queue is deleted with the connection.
    pub is_exclusive: bool,
    /// True if the queue is deleted with its last consumer.
    pub is_auto_delete: bool,
    /// The arguments.
    pub arguments: EncodedTable,
    /// The id of the queue in the message log. 0: the virtual host chooses one, or has no log.
    pub log_id: u64,
}

/// The counts of declare-ok.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// The name.
    pub name: Box<[u8]>,
    /// Number of messages that wait.
    pub message_count: u32,
    /// Number of consumers.
    pub consumer_count: u32,
}

/// A consumer as a client declares it.
#[derive(Clone, Copy, Debug)]
pub struct ConsumerDeclaration<'a> {
    /// The queue, or `amq.rabbitmq.reply-to`.
    pub queue: &'a [u8],
    /// The consumer's tag; empty: the virtual host chooses one.
    pub consumer_tag: &'a [u8],
    /// True if deliveries count as settled at once.
    pub no_ack: bool,
    /// True if the queue may have no other consumer.
    pub is_exclusive: bool,
    /// The arguments.
    pub arguments: &'a FieldTable,
}
