//! Queues: they are listed, declared, purged and deleted, as a client would.

use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::{ConsumerInfo, QueueInfo};

use super::error::{Done, OperatorError};
use super::virtual_hosts::live;
use crate::node::{Commit, Node, OPERATORS};

/// All queues of a virtual host.
///
/// # Errors
///
/// There is no such host.
pub fn all(node: &Node, virtual_host: &str) -> Result<Vec<QueueInfo>, OperatorError> {
    let host = live(node, virtual_host)?;
    Ok(host.gather(VirtualHost::queue_infos))
}

/// The names of all queues of a virtual host.
///
/// # Errors
///
/// There is no such host.
pub fn names(node: &Node, virtual_host: &str) -> Result<Vec<Box<[u8]>>, OperatorError> {
    let host = live(node, virtual_host)?;
    Ok(host.gather(VirtualHost::queue_names))
}

/// A queue and its consumers.
///
/// # Errors
///
/// There is no such queue.
pub fn find(
    node: &Node,
    virtual_host: &str,
    name: &[u8],
) -> Result<(QueueInfo, Vec<ConsumerInfo>), OperatorError> {
    let host = live(node, virtual_host)?;
    let state = host.lock();
    let host = &state.host;
    let queue = host.queue(name).ok_or(OperatorError::NotFound)?;
    Ok((queue, host.consumers_of_queue(name)))
}

/// Declares a queue.
///
/// # Errors
///
/// There is no such host, or an error of queue.declare.
pub fn declare(
    node: &Node,
    virtual_host: &str,
    declaration: &QueueDeclaration,
) -> Result<Done, OperatorError> {
    let host = live(node, virtual_host)?;
    let (result, commit) = node.act(&host, |state, now| {
        node.journal.check_queue(virtual_host, &state.host, declaration)?;
        let is_new = state.host.queue(&declaration.name).is_none();
        state.host.declare_queue(OPERATORS, declaration, now)?;
        Ok::<_, OperatorError>(is_new)
    });
    Ok(Done { is_new: result?, commit })
}

/// Deletes a queue with its messages.
///
/// # Errors
///
/// There is no such queue, or an error of queue.delete.
pub fn delete(
    node: &Node,
    virtual_host: &str,
    name: &[u8],
    if_unused: bool,
    if_empty: bool,
) -> Result<Commit, OperatorError> {
    let host = live(node, virtual_host)?;
    let (result, commit) = node.act(&host, |state, now| {
        state.host.queue(name).ok_or(OperatorError::NotFound)?;
        let outlets = &mut state.outlets;
        state.host.delete_queue(OPERATORS, name, if_unused, if_empty, now, outlets)?;
        Ok(())
    });
    result.map(|()| commit)
}

/// Drops the messages that wait. Returns their number.
///
/// # Errors
///
/// There is no such queue, or an error of queue.purge.
pub fn purge(node: &Node, virtual_host: &str, name: &[u8]) -> Result<u32, OperatorError> {
    let host = live(node, virtual_host)?;
    let (result, _) = node.act(&host, |state, _| state.host.purge_queue(OPERATORS, name));
    Ok(result?)
}
