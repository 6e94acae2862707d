//! Class exchange: exchanges, and RabbitMQ's bindings between them.

class! {
    40;
    /// Creates an exchange, or checks an existing one.
    Declare<'a> = 10, "exchange.declare" {
        _: short,
        /// The name of the exchange.
        exchange: shortstr,
        /// The type of the exchange, such as `topic`.
        kind: shortstr,
        /// Only checks that the exchange exists.
        passive: bit,
        /// The exchange survives a restart.
        durable: bit,
        /// The exchange is deleted with its last binding.
        auto_delete: bit,
        /// Clients may not publish to the exchange.
        internal: bit,
        /// No answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
    /// The exchange exists.
    DeclareOk = 11, "exchange.declare-ok" {}
    /// Deletes an exchange.
    Delete<'a> = 20, "exchange.delete" {
        _: short,
        /// The name of the exchange.
        exchange: shortstr,
        /// Only if the exchange has no bindings.
        if_unused: bit,
        /// No answer.
        no_wait: bit,
    }
    /// The exchange is deleted.
    DeleteOk = 21, "exchange.delete-ok" {}
    /// Binds an exchange to another exchange.
    Bind<'a> = 30, "exchange.bind" {
        _: short,
        /// The exchange that receives messages.
        destination: shortstr,
        /// The exchange that passes messages on.
        source: shortstr,
        /// The routing key of the binding.
        routing_key: shortstr,
        /// No answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
    /// The binding exists.
    BindOk = 31, "exchange.bind-ok" {}
    /// Removes a binding between exchanges.
    Unbind<'a> = 40, "exchange.unbind" {
        _: short,
        /// The exchange that got messages.
        destination: shortstr,
        /// The exchange that passed messages on.
        source: shortstr,
        /// The routing key of the binding.
        routing_key: shortstr,
        /// No answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
    /// The binding is removed.
    UnbindOk = 51, "exchange.unbind-ok" {}
}
