//! Class queue: queues and their bindings.

class! {
    50;
    /// Creates a queue, or checks an existing one.
    Declare<'a> = 10, "queue.declare" {
        _: short,
        /// The name of the queue; empty: the server makes one.
        queue: shortstr,
        /// Only checks that the queue exists.
        passive: bit,
        /// The queue survives a restart.
        durable: bit,
        /// Only this connection may use the queue. The queue is deleted with the connection.
        exclusive: bit,
        /// The queue is deleted with its last consumer.
        auto_delete: bit,
        /// No answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
    /// The queue exists.
    DeclareOk<'a> = 11, "queue.declare-ok" {
        /// The name of the queue.
        queue: shortstr,
        /// Number of ready messages.
        message_count: long,
        /// Number of consumers of the queue.
        consumer_count: long,
    }
    /// Binds a queue to an exchange.
    Bind<'a> = 20, "queue.bind" {
        _: short,
        /// The name of the queue; empty: the one that the channel declared last.
        queue: shortstr,
        /// The name of the exchange.
        exchange: shortstr,
        /// The routing key of the binding.
        routing_key: shortstr,
        /// No answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
    /// The binding exists.
    BindOk = 21, "queue.bind-ok" {}
    /// Drops the ready messages of a queue.
    Purge<'a> = 30, "queue.purge" {
        _: short,
        /// The name of the queue; empty: the one that the channel declared last.
        queue: shortstr,
        /// No answer.
        no_wait: bit,
    }
    /// The messages are deleted.
    PurgeOk = 31, "queue.purge-ok" {
        /// Number of deleted messages.
        message_count: long,
    }
    /// Deletes a queue.
    Delete<'a> = 40, "queue.delete" {
        _: short,
        /// The name of the queue; empty: the one that the channel declared last.
        queue: shortstr,
        /// Only if the queue has no consumers.
        if_unused: bit,
        /// Only if the queue has no messages.
        if_empty: bit,
        /// No answer.
        no_wait: bit,
    }
    /// The queue is deleted.
    DeleteOk = 41, "queue.delete-ok" {
        /// Number of messages deleted with the queue.
        message_count: long,
    }
    /// Removes a binding of a queue.
    Unbind<'a> = 50, "queue.unbind" {
        _: short,
        /// The name of the queue; empty: the one that the channel declared last.
        queue: shortstr,
        /// The name of the exchange.
        exchange: shortstr,
        /// The routing key of the binding.
        routing_key: shortstr,
        /// Further arguments.
        arguments: table,
    }
    /// The binding is removed.
    UnbindOk = 51, "queue.unbind-ok" {}
}
