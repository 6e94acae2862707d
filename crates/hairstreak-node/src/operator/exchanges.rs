//! Exchanges: they are listed, declared and deleted, as a client would.

use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::view::ExchangeInfo;

use super::error::{Done, OperatorError};
use super::virtual_hosts::live;
use crate::node::{Commit, Node, OPERATORS};

/// All exchanges of a virtual host, the default exchange first.
///
/// # Errors
///
/// There is no such host.
pub fn all(node: &Node, virtual_host: &str) -> Result<Vec<ExchangeInfo>, OperatorError> {
    let host = live(node, virtual_host)?;
    Ok(host.gather(|host, from, count, rows| host.topology().exchange_infos(from, count, rows)))
}

/// An exchange. The default exchange has an empty name.
///
/// # Errors
///
/// There is no such exchange.
pub fn find(node: &Node, virtual_host: &str, name: &[u8]) -> Result<ExchangeInfo, OperatorError> {
    let host = live(node, virtual_host)?;
    let state = host.lock();
    state.host.topology().exchange(name).ok_or(OperatorError::NotFound)
}

/// Declares an exchange.
///
/// # Errors
///
/// There is no such host, or an error of exchange.declare.
pub fn declare(
    node: &Node,
    virtual_host: &str,
    declaration: &ExchangeDeclaration,
) -> Result<Done, OperatorError> {
    let host = live(node, virtual_host)?;
    let (result, commit) = node.act(&host, |state, _| {
        node.journal.check_exchange(virtual_host, &state.host, declaration)?;
        let is_new = state.host.topology().exchange(&declaration.name).is_none();
        state.host.exchanges_mut().declare(declaration)?;
        Ok::<_, OperatorError>(is_new)
    });
    Ok(Done { is_new: result?, commit })
}

/// Deletes an exchange with its bindings.
///
/// # Errors
///
/// There is no such exchange, or an error of exchange.delete.
pub fn delete(
    node: &Node,
    virtual_host: &str,
    name: &[u8],
    if_unused: bool,
) -> Result<Commit, OperatorError> {
    let host = live(node, virtual_host)?;
    let (result, commit) = node.act(&host, |state, now| {
        state.host.topology().exchange(name).ok_or(OperatorError::NotFound)?;
        state.host.delete_exchange(OPERATORS, name, if_unused, now, &mut state.outlets)?;
        Ok(())
    });
    result.map(|()| commit)
}
