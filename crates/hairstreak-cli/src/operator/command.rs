//! The operator's commands.

use clap::Subcommand;

use super::connections::{self, ConnectionsArguments, connections};
use super::definitions::{DefinitionsArguments, definitions};
use super::lists::{
    BINDINGS, BINDINGS_EXAMPLES, CHANNELS, CHANNELS_EXAMPLES, CONSUMERS, CONSUMERS_EXAMPLES, EXCHANGES,
    EXCHANGES_EXAMPLES, OnlyListArguments, list,
};
use super::peek::{PeekArguments, peek};
use super::permissions::{self, PermissionsArguments, permissions};
use super::policies::{self, PoliciesArguments, policies};
use super::queues::{self, QueuesArguments, queues};
use super::users::{self, UsersArguments, users};
use super::vhosts::{self, VhostsArguments, vhosts};
use crate::failure::Failure;

/// Commands that speak the management HTTP API.
#[derive(Debug, Subcommand)]
pub enum OperatorCommand {
    /// List queues with their messages, consumers and rates; delete and purge them
    ///
    /// `declare queue`, `delete queue` and `purge` do the same as clients of AMQP, with other conditions.
    #[command(after_long_help = queues::EXAMPLES)]
    Queues(QueuesArguments),
    /// List exchanges
    ///
    /// `declare exchange` and `delete exchange` create and delete them, as clients of AMQP.
    #[command(after_long_help = EXCHANGES_EXAMPLES)]
    Exchanges(OnlyListArguments),
    /// List bindings: from which exchange, to which queue or exchange, with which key
    ///
    /// Each queue is bound to the default exchange by its name. `bind` and `unbind` make and remove others, as clients of AMQP.
    #[command(after_long_help = BINDINGS_EXAMPLES)]
    Bindings(OnlyListArguments),
    /// List connections; close them
    ///
    /// A connection's name is its two addresses, such as '127.0.0.1:43210 -> 127.0.0.1:5672'. The name that the client gave
    /// itself is shown besides.
    #[command(after_long_help = connections::EXAMPLES)]
    Connections(ConnectionsArguments),
    /// List channels with what they have not acknowledged or confirmed
    #[command(after_long_help = CHANNELS_EXAMPLES)]
    Channels(OnlyListArguments),
    /// List consumers: of which queue, on which channel
    #[command(after_long_help = CONSUMERS_EXAMPLES)]
    Consumers(OnlyListArguments),
    Peek(PeekArguments),
    /// List users; add and delete them, set their tags, passwords and limits
    ///
    /// Tags say who may use this API: administrator (all of it), monitoring (reads everything), policymaker, management (their
    /// own virtual hosts). Whoever only sends and receives messages needs none. A new user may use no virtual host: see
    /// `permissions set`.
    #[command(after_long_help = users::EXAMPLES)]
    Users(UsersArguments),
    /// List permissions; set and clear them
    ///
    /// A user may configure, write and read what the three regular expressions match, anywhere in a queue's or an exchange's
    /// name; an empty one matches nothing. Declaring and deleting needs configure; publishing and binding a queue, write;
    /// consuming and binding to an exchange, read.
    ///
    /// Topic permissions (--topic) say besides with which keys a user may publish to a topic exchange, and bind to it. A user
    /// without one for an exchange may use all keys.
    #[command(after_long_help = permissions::EXAMPLES)]
    Permissions(PermissionsArguments),
    /// List virtual hosts; add and delete them, set their limits
    ///
    /// The user who adds a virtual host may use it; others need `permissions set`.
    #[command(after_long_help = vhosts::EXAMPLES)]
    Vhosts(VhostsArguments),
    /// List policies; set and clear them
    ///
    /// A policy gives arguments such as max-length or message-ttl to all queues and exchanges whose name its pattern matches,
    /// while they are in use. The policy with the highest priority applies, and only that one.
    ///
    /// An operator policy (--operator) applies besides, and has the last word over limits: the smaller one counts.
    #[command(after_long_help = policies::EXAMPLES)]
    Policies(PoliciesArguments),
    Definitions(DefinitionsArguments),
}

pub fn operate(command: &OperatorCommand) -> Result<(), Failure> {
    match command {
        OperatorCommand::Queues(command) => queues(command),
        OperatorCommand::Exchanges(command) => list(command, &EXCHANGES),
        OperatorCommand::Bindings(command) => list(command, &BINDINGS),
        OperatorCommand::Connections(command) => connections(command),
        OperatorCommand::Channels(command) => list(command, &CHANNELS),
        OperatorCommand::Consumers(command) => list(command, &CONSUMERS),
        OperatorCommand::Peek(arguments) => peek(arguments),
        OperatorCommand::Users(command) => users(command),
        OperatorCommand::Permissions(command) => permissions(command),
        OperatorCommand::Vhosts(command) => vhosts(command),
        OperatorCommand::Policies(command) => policies(command),
        OperatorCommand::Definitions(arguments) => definitions(arguments),
    }
}
