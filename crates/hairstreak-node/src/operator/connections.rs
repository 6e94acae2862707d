//! Connections, channels and consumers: they are listed, and connections can be closed.

use std::sync::Arc;

use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::{ChannelInfo, ConsumerInfo};

use super::error::OperatorError;
use super::virtual_hosts::live;
use crate::node::{ConnectionEntry, Node, OPERATORS};

/// All connections by name.
pub fn all(node: &Node) -> Vec<Arc<ConnectionEntry>> {
    node.connections.all()
}

/// A connection.
///
/// # Errors
///
/// There is no such connection.
pub fn find(node: &Node, name: &str) -> Result<Arc<ConnectionEntry>, OperatorError> {
    node.connections.find(name).ok_or(OperatorError::NotFound)
}

/// Closes a connection. Its client gets the reason.
///
/// # Errors
///
/// There is no such connection.
pub fn close(node: &Node, name: &str, reason: &str) -> Result<(), OperatorError> {
    match node.close_connections(reason, |connection| connection.name == name) {
        0 => Err(OperatorError::NotFound),
        _ => Ok(()),
    }
}

/// All channels of a virtual host.
///
/// # Errors
///
/// There is no such host.
pub fn channels(node: &Node, virtual_host: &str) -> Result<Vec<ChannelInfo>, OperatorError> {
    let host = live(node, virtual_host)?;
    let mut channels = host.gather(|host, from, count, rows| host.channels().infos(from, count, rows));
    channels.retain(|channel| channel.connection != OPERATORS);
    Ok(channels)
}

/// All consumers of a virtual host.
///
/// # Errors
///
/// There is no such host.
pub fn consumers(node: &Node, virtual_host: &str) -> Result<Vec<ConsumerInfo>, OperatorError> {
    let host = live(node, virtual_host)?;
    Ok(host.gather(VirtualHost::consumer_infos))
}
