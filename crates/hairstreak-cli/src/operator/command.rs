//! The operator's commands.

use clap::Subcommand;

use super::bindings::{BindingsArguments, bindings};
use super::channels::{ChannelsArguments, channels};
use super::connections::{ConnectionsArguments, connections};
use super::consumers::{ConsumersArguments, consumers};
use super::definitions::{DefinitionsArguments, definitions};
use super::exchanges::{ExchangesArguments, exchanges};
use super::peek::{PeekArguments, peek};
use super::permissions::{PermissionsArguments, permissions};
use super::policies::{PoliciesArguments, policies};
use super::queues::{QueuesArguments, queues};
use super::users::{UsersArguments, users};
use super::vhosts::{VhostsArguments, vhosts};
use crate::failure::Failure;

/// Commands that speak the management HTTP API.
#[derive(Debug, Subcommand)]
pub enum OperatorCommand {
    Queues(QueuesArguments),
    Exchanges(ExchangesArguments),
    Bindings(BindingsArguments),
    Connections(ConnectionsArguments),
    Channels(ChannelsArguments),
    Consumers(ConsumersArguments),
    Peek(PeekArguments),
    Users(UsersArguments),
    Permissions(PermissionsArguments),
    Vhosts(VhostsArguments),
    Policies(PoliciesArguments),
    Definitions(DefinitionsArguments),
}

pub fn operate(command: &OperatorCommand) -> Result<(), Failure> {
    match command {
        OperatorCommand::Queues(arguments) => queues(arguments),
        OperatorCommand::Exchanges(arguments) => exchanges(arguments),
        OperatorCommand::Bindings(arguments) => bindings(arguments),
        OperatorCommand::Connections(arguments) => connections(arguments),
        OperatorCommand::Channels(arguments) => channels(arguments),
        OperatorCommand::Consumers(arguments) => consumers(arguments),
        OperatorCommand::Peek(arguments) => peek(arguments),
        OperatorCommand::Users(arguments) => users(arguments),
        OperatorCommand::Permissions(arguments) => permissions(arguments),
        OperatorCommand::Vhosts(arguments) => vhosts(arguments),
        OperatorCommand::Policies(arguments) => policies(arguments),
        OperatorCommand::Definitions(arguments) => definitions(arguments),
    }
}
