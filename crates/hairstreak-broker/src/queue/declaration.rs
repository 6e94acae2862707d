//! `QueueDeclaration` and `ConsumerDeclaration`: what clients ask for, and `QueueStatus`: what they learn of a queue.

use hairstreak_wire::amqp::{EncodedTable, FieldTable};

/// A queue as a client declares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDeclaration {
    /// The name; empty: the virtual host chooses one.
    pub name: Box<[u8]>,
    /// Whether the queue outlives the node.
    pub is_durable: bool,
    /// Whether the queue is for the connection that declares it, and goes with the connection.
    pub is_exclusive: bool,
    /// Whether the queue goes with its last consumer.
    pub is_auto_delete: bool,
    /// The arguments.
    pub arguments: EncodedTable,
}

/// The counts of declare-ok.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// The name.
    pub name: Box<[u8]>,
    /// How many messages wait.
    pub message_count: u32,
    /// How many consumers there are.
    pub consumer_count: u32,
}

/// A consumer as a client asks for it.
#[derive(Clone, Copy, Debug)]
pub struct ConsumerDeclaration<'a> {
    /// The queue, or `amq.rabbitmq.reply-to`.
    pub queue: &'a [u8],
    /// The consumer's tag; empty: the virtual host chooses one.
    pub consumer_tag: &'a [u8],
    /// Whether deliveries count as settled at once.
    pub no_ack: bool,
    /// Whether the queue may have no other consumer.
    pub is_exclusive: bool,
    /// The arguments.
    pub arguments: &'a FieldTable,
}
