//! Bindings: they are listed, made and taken back, as a client would.

use hairstreak_broker::view::BindingInfo;

use super::error::OperatorError;
use super::virtual_hosts::live;
use crate::node::{Commit, Node, OPERATORS};

/// The bindings that are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// All bindings.
    All,
    /// From an exchange.
    From(&'a [u8]),
    /// Bindings to an exchange.
    ToExchange(&'a [u8]),
    /// Bindings to a queue.
    ToQueue(&'a [u8]),
}

/// Returns the bindings of a virtual host, without the implicit bindings of the default exchange.
///
/// # Errors
///
/// There is no such host, or no such exchange or queue.
pub fn list(node: &Node, virtual_host: &str, which: Which<'_>) -> Result<Vec<BindingInfo>, OperatorError> {
    let host = live(node, virtual_host)?;
    {
        let state = host.lock();
        let host = &state.host;
        let is_there = match which {
            Which::All => true,
            Which::From(name) | Which::ToExchange(name) => host.topology().exchange(name).is_some(),
            Which::ToQueue(name) => host.queue(name).is_some(),
        };
        if !is_there {
            return Err(OperatorError::NotFound);
        }
    }
    Ok(host.gather(|host, from, count, rows| match which {
        Which::All => host.topology().binding_infos(from, count, rows),
        Which::From(name) => host.topology().bindings_from(name, from, count, rows),
        Which::ToExchange(name) => host.topology().bindings_to_exchange(name, from, count, rows),
        Which::ToQueue(name) => host.topology().bindings_to_queue(name, from, count, rows),
    }))
}

/// Makes a binding. An existing binding stays.
///
/// # Errors
///
/// There is no such host, or an error of queue.bind or exchange.bind.
pub fn bind(node: &Node, virtual_host: &str, binding: &BindingInfo) -> Result<Commit, OperatorError> {
    let host = live(node, virtual_host)?;
    let BindingInfo { source, destination, is_to_exchange, routing_key, arguments } = binding;
    let arguments = &arguments.decode();
    let (result, commit) = node.act(&host, |state, _| {
        node.journal.check_binding(virtual_host, &state.host, binding)?;
        match is_to_exchange {
            true => state.host.exchanges_mut().bind_exchange(destination, source, routing_key, arguments)?,
            false => state.host.bind_queue(OPERATORS, destination, source, routing_key, arguments)?,
        }
        Ok::<_, OperatorError>(())
    });
    result?;
    Ok(commit)
}

/// Takes a binding back.
///
/// # Errors
///
/// There is no such host, or an error of queue.unbind or exchange.unbind.
pub fn unbind(node: &Node, virtual_host: &str, binding: &BindingInfo) -> Result<Commit, OperatorError> {
    let host = live(node, virtual_host)?;
    let BindingInfo { source, destination, is_to_exchange, routing_key, arguments } = binding;
    let arguments = &arguments.decode();
    let (result, commit) = node.act(&host, |state, _| match is_to_exchange {
        true => state.host.exchanges_mut().unbind_exchange(destination, source, routing_key, arguments),
        false => state.host.unbind_queue(OPERATORS, destination, source, routing_key, arguments),
    });
    result?;
    Ok(commit)
}
