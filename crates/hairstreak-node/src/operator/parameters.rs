//! Parameters: values that the node keeps for its components and for tools.
//!
//! - Values of JSON as Erlang prints them, for texts that RabbitMQ's tools expect.

use serde_json::{Map, Value};

use super::error::{Done, OperatorError, erlang};
use super::virtual_hosts;
use crate::definitions::{
    Change, Definition, GlobalParameterDefinition, Kind, Limits, ParameterDefinition, Place,
};
use crate::node::{Commit, Node};

/// The parameter of the node that names the cluster.
pub const CLUSTER_NAME: &str = "cluster_name";
/// The parameter of the node that identifies the cluster permanently.
pub const CLUSTER_ID: &str = "internal_cluster_id";

/// Maximum number of parameters of a virtual host, and of the node. The same maximum holds for a virtual host's policies and for
/// its operator policies: each queue is matched with all policies.
const PARAMETERS_MAX: usize = 1_024;

/// The URIs that parameters of a component have to have. RabbitMQ complains about the last of a component first.
const URIS: [(&str, &str); 3] =
    [("federation-upstream", "uri"), ("shovel", "dest-uri"), ("shovel", "src-uri")];

/// All parameters of virtual hosts, the limits of each host that has some among them.
pub fn all(node: &Node) -> Vec<ParameterDefinition> {
    let definitions = node.catalog.all(Kind::Parameter).into_iter();
    let stored = definitions.filter_map(|definition| match definition {
        Definition::Parameter(parameter) => Some(parameter),
        _ => None,
    });
    let limited = virtual_hosts::all(node).into_iter().filter(|host| !host.limits.is_empty());
    stored.chain(limited.map(ParameterDefinition::of_limits)).collect()
}

/// All parameters of the node. The id of the cluster is that of the node, unless another one was imported.
pub fn all_global(node: &Node) -> Vec<GlobalParameterDefinition> {
    let definitions = node.catalog.all(Kind::GlobalParameter).into_iter();
    let mut parameters: Vec<GlobalParameterDefinition> = definitions
        .filter_map(|definition| match definition {
            Definition::GlobalParameter(parameter) => Some(parameter),
            _ => None,
        })
        .collect();
    if parameters.iter().all(|parameter| parameter.name != CLUSTER_ID) {
        let id = format!("rabbitmq-cluster-id-{}", node.id);
        parameters.push(GlobalParameterDefinition { name: CLUSTER_ID.into(), value: id.into() });
    }
    parameters
}

/// The text of the parameter of that name.
pub fn text<'a>(parameters: &'a [GlobalParameterDefinition], name: &str) -> Option<&'a str> {
    parameters.iter().find(|parameter| parameter.name == name)?.value.as_str()
}

/// Sets a parameter. The limits of a virtual host take effect, and are kept with the host.
///
/// # Errors
///
/// There is no such virtual host, or it has no room for a further parameter. The limits make no sense, or the value lacks a URI.
pub fn put(node: &Node, parameter: ParameterDefinition) -> Result<Done, OperatorError> {
    if parameter.component == ParameterDefinition::VHOST_LIMITS {
        return put_limits(node, &parameter);
    }
    let _changing = node.changing.lock();
    virtual_hosts::find(node, &parameter.vhost)?;
    check_uris(&parameter)?;
    let name = parameter.name.clone();
    let definition = Definition::Parameter(parameter);
    check_room(node, "parameter", &name, &definition)?;
    node.journal.check()?;
    let (is_new, commit) = node.put(definition);
    Ok(Done { is_new, commit })
}

/// Fails if a virtual host, or the node, has no room for a parameter or a policy that is new. The caller holds `changing`.
pub(super) fn check_room(
    node: &Node,
    kind: &str,
    name: &str,
    definition: &Definition,
) -> Result<(), OperatorError> {
    let place = definition.place();
    let is_there = node.catalog.find(&place).is_some();
    if is_there || node.catalog.count(place.kind, definition.virtual_host()) < PARAMETERS_MAX {
        return Ok(());
    }
    let host = definition.virtual_host().map(|host| format!(" in vhost '{host}'")).unwrap_or_default();
    let text = format!("cannot set {kind} '{name}': {kind} limit{host} ({PARAMETERS_MAX}) is reached");
    Err(OperatorError::Bad(text))
}

/// Fails as in RabbitMQ if a URI is missing. All else of a value stays as it comes: no component here reads it.
fn check_uris(parameter: &ParameterDefinition) -> Result<(), OperatorError> {
    let problem = |key: &str| {
        let wrong = match parameter.value.get(key) {
            None => return Some(format!("Key \"{key}\" not found in {}\n", parameter.name)),
            Some(Value::Array(uris)) => uris.iter().find(|uri| !uri.is_string()),
            Some(uri) => Some(uri).filter(|uri| !uri.is_string()),
        };
        wrong.map(|uri| format!("{key} should be list, actually was {uri}\n"))
    };
    let keys = URIS.iter().filter(|(component, _)| *component == parameter.component);
    let problems: String = keys.filter_map(|(_, key)| problem(key)).collect();
    match &*problems {
        "" => Ok(()),
        problems => Err(OperatorError::Bad(format!("Validation failed\n\n{problems}"))),
    }
}

fn put_limits(node: &Node, parameter: &ParameterDefinition) -> Result<Done, OperatorError> {
    let bad = |reason: String| OperatorError::Bad(format!("Validation failed\n\n{reason}\n"));
    if parameter.name != ParameterDefinition::LIMITS {
        return Err(bad(format!("limits have the name '{}'", ParameterDefinition::LIMITS)));
    }
    let empty = Map::new();
    let fields = match &parameter.value {
        Value::Object(fields) => fields,
        // Erlang's object without fields.
        Value::Array(list) if list.is_empty() => &empty,
        other => return Err(bad(format!("limits not a list {}", erlang(other)))),
    };
    virtual_hosts::set_limits(node, &parameter.vhost, virtual_hosts::read_limits(fields)?)
}

/// Sets a parameter of the node.
///
/// # Errors
///
/// Nothing can be written now, or the node has no room for a further parameter.
pub fn put_global(node: &Node, parameter: GlobalParameterDefinition) -> Result<Done, OperatorError> {
    let _changing = node.changing.lock();
    let name = parameter.name.clone();
    let definition = Definition::GlobalParameter(parameter);
    check_room(node, "global parameter", &name, &definition)?;
    node.journal.check()?;
    let (is_new, commit) = node.put(definition);
    Ok(Done { is_new, commit })
}

/// Clears a parameter.
///
/// # Errors
///
/// There is no such parameter.
pub fn delete(node: &Node, virtual_host: &str, component: &str, name: &str) -> Result<Commit, OperatorError> {
    if component == ParameterDefinition::VHOST_LIMITS && name == ParameterDefinition::LIMITS {
        return Ok(virtual_hosts::set_limits(node, virtual_host, Limits::new())?.commit);
    }
    let names = [virtual_host, component, name].map(str::as_bytes);
    remove(node, Place::new(Kind::Parameter, &names))
}

/// Clears a parameter of the node.
///
/// # Errors
///
/// There is no such parameter.
pub fn delete_global(node: &Node, name: &str) -> Result<Commit, OperatorError> {
    remove(node, Place::new(Kind::GlobalParameter, &[name.as_bytes()]))
}

fn remove(node: &Node, place: Place) -> Result<Commit, OperatorError> {
    let _changing = node.changing.lock();
    node.catalog.remove(&place).ok_or(OperatorError::NotFound)?;
    Ok(node.journal.commit(&[Change::Delete(place)]))
}
