//! Parameters: values that the node keeps for its components and for tools.

use super::error::{Done, OperatorError};
use super::virtual_hosts;
use crate::definitions::{Change, Definition, GlobalParameterDefinition, Kind, ParameterDefinition, Place};
use crate::node::{Commit, Node};

/// All parameters of virtual hosts.
pub(crate) fn all(node: &Node) -> Vec<ParameterDefinition> {
    let definitions = node.catalog.all(Kind::Parameter).into_iter();
    definitions
        .filter_map(|definition| match definition {
            Definition::Parameter(parameter) => Some(parameter),
            _ => None,
        })
        .collect()
}

/// All parameters of the node.
pub(crate) fn all_global(node: &Node) -> Vec<GlobalParameterDefinition> {
    let definitions = node.catalog.all(Kind::GlobalParameter).into_iter();
    definitions
        .filter_map(|definition| match definition {
            Definition::GlobalParameter(parameter) => Some(parameter),
            _ => None,
        })
        .collect()
}

/// Sets a parameter.
///
/// # Errors
///
/// There is no such virtual host.
pub(crate) fn put(node: &Node, parameter: ParameterDefinition) -> Result<Done, OperatorError> {
    let _changing = node.changing.lock();
    virtual_hosts::find(node, &parameter.vhost)?;
    node.journal.check()?;
    let (is_new, commit) = node.put(Definition::Parameter(parameter));
    Ok(Done { is_new, commit })
}

/// Sets a parameter of the node.
///
/// # Errors
///
/// Nothing can be written now.
pub(crate) fn put_global(node: &Node, parameter: GlobalParameterDefinition) -> Result<Done, OperatorError> {
    let _changing = node.changing.lock();
    node.journal.check()?;
    let (is_new, commit) = node.put(Definition::GlobalParameter(parameter));
    Ok(Done { is_new, commit })
}

/// Clears a parameter.
///
/// # Errors
///
/// There is no such parameter.
pub(crate) fn delete(
    node: &Node,
    virtual_host: &str,
    component: &str,
    name: &str,
) -> Result<Commit, OperatorError> {
    let names = [virtual_host, component, name].map(str::as_bytes);
    remove(node, Place::new(Kind::Parameter, &names))
}

/// Clears a parameter of the node.
///
/// # Errors
///
/// There is no such parameter.
pub(crate) fn delete_global(node: &Node, name: &str) -> Result<Commit, OperatorError> {
    remove(node, Place::new(Kind::GlobalParameter, &[name.as_bytes()]))
}

fn remove(node: &Node, place: Place) -> Result<Commit, OperatorError> {
    let _changing = node.changing.lock();
    node.catalog.remove(&place).ok_or(OperatorError::NotFound)?;
    Ok(node.journal.commit(&[Change::Delete(place)]))
}
