//! Parameters of virtual hosts and of the node, and the name of the cluster.

use std::collections::BTreeSet;

use hairstreak_broker::policy::Scope;
use hairstreak_node::definitions::{Fields, GlobalParameterDefinition, ParameterDefinition};
use hairstreak_node::operator::parameters::{self, CLUSTER_NAME};
use hairstreak_node::operator::{OperatorError, erlang, policies};
use serde_json::{Map, Value, json};

use super::policies::{clear as clear_policy, escaped_for_html, set_fields};
use crate::http::call::{Answer, Call, deleted, kept, nothing, put};
use crate::http::error::ApiError;
use crate::http::list::Held;

/// The components that have parameters.
const COMPONENTS: [&str; 5] = [
    ParameterDefinition::VHOST_LIMITS,
    "shovel",
    "federation",
    "federation-upstream",
    "federation-upstream-set",
];
/// RabbitMQ's words about users' policies, which are set at their own path.
const NOT_THIS_WAY: &str = "policies may not be set using this method";
/// The required fields of an operator policy, and the optional fields.
const POLICY_FIELDS: [&str; 3] = ["definition", "pattern", "priority"];
const POLICY_FIELDS_OPTIONAL: [&str; 1] = ["apply-to"];

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let component = call.name("component").map(String::from_utf8_lossy);
    let hosts = call.hosts()?;
    let hosts: BTreeSet<&str> = hosts.iter().map(|host| host.name()).collect();
    let mut rows = rows(call, component.as_deref());
    rows.retain(|row| {
        hosts.contains(&*row.vhost) && component.as_ref().is_none_or(|name| **name == row.component)
    });
    call.list(Held::values(rows.iter().map(|row| json!(row)).collect())).await
}

/// The parameters of the node, operator policies among them. Users' policies are among them only where a client asks for their component.
fn rows(call: &Call<'_>, component: Option<&str>) -> Vec<ParameterDefinition> {
    let mut rows = parameters::all(call.node());
    let mut add = |scope, component| {
        let policies = policies::all(call.node(), scope);
        rows.extend(policies.iter().map(|policy| ParameterDefinition::of_policy(component, policy)));
    };
    add(Scope::Operator, ParameterDefinition::OPERATOR_POLICY);
    if component == Some(ParameterDefinition::POLICY) {
        add(Scope::User, ParameterDefinition::POLICY);
    }
    rows
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    call.object(&find(call)?)
}

fn find(call: &Call<'_>) -> Result<ParameterDefinition, ApiError> {
    let host = call.vhost()?;
    let (component, name) = (call.text("component")?, call.text("name")?);
    let mut rows = rows(call, Some(component)).into_iter();
    let found = rows.find(|row| row.vhost == host.name() && row.component == component && row.name == name);
    found.ok_or_else(ApiError::not_found)
}

pub(crate) async fn set(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["value"]).await?;
    let host = call.vhost().map_err(|_| ApiError::missing("vhost_not_found"))?;
    let component = call.text("component")?;
    match component {
        ParameterDefinition::POLICY => return Err(ApiError::bad_request(NOT_THIS_WAY)),
        ParameterDefinition::OPERATOR_POLICY => return set_operator_policy(call, &value(&body)).await,
        _ => {}
    }
    if !COMPONENTS.contains(&component) {
        let text = format!("Validation failed\n\ncomponent {component} not found\n");
        return Err(ApiError::bad_request(text));
    }
    let parameter = ParameterDefinition {
        vhost: host.name().into(),
        component: component.into(),
        name: call.text("name")?.into(),
        value: value(&body),
    };
    match parameters::put(call.node(), parameter) {
        Err(OperatorError::Bad(text)) => Err(escaped_for_html(&text)),
        result => put(result?).await,
    }
}

/// Sets an operator policy, as at its own path: by administrators only. RabbitMQ lets policymakers do so here.
async fn set_operator_policy(call: &Call<'_>, value: &Value) -> Answer {
    check_administrator(call)?;
    let name = call.text("name")?;
    let bad = |reason: String| Err(escaped_for_html(&format!("Validation failed\n\n{reason}\n")));
    let empty = Map::new();
    let fields = match value {
        Value::Object(fields) => fields,
        // Erlang's object without fields.
        Value::Array(items) if items.is_empty() => &empty,
        other => return bad(format!("{name} not a list {}", erlang(other))),
    };
    let missing = POLICY_FIELDS.iter().filter(|field| !fields.contains_key(**field));
    let missing: Vec<String> = missing.map(|field| format!("Key \"{field}\" not found in {name}")).collect();
    if !missing.is_empty() {
        return bad(missing.join("\n"));
    }
    let is_known = |field: &str| POLICY_FIELDS.contains(&field) || POLICY_FIELDS_OPTIONAL.contains(&field);
    let unknown = fields.iter().filter(|(field, _)| !is_known(field));
    let unknown: Vec<String> =
        unknown.map(|(field, value)| format!("{{<<\"{field}\">>,{}}}", erlang(value))).collect();
    if !unknown.is_empty() {
        return bad(format!("Unrecognised terms [{}] in {name}", unknown.join(",")));
    }
    let refuse = |text: String| escaped_for_html(&text);
    set_fields(call, Scope::Operator, &Fields(fields.clone()), refuse).await
}

fn check_administrator(call: &Call<'_>) -> Result<(), ApiError> {
    let tags = call.identity()?.tags();
    if tags.may_administer() { Ok(()) } else { Err(ApiError::not_authorised("Not administrator user")) }
}

fn value(body: &Fields) -> Value {
    body.get("value").cloned().unwrap_or_default()
}

pub(crate) async fn clear(call: &Call<'_>) -> Answer {
    let ParameterDefinition { vhost, component, name, .. } = find(call)?;
    match &*component {
        ParameterDefinition::POLICY => return Err(ApiError::bad_request(NOT_THIS_WAY)),
        ParameterDefinition::OPERATOR_POLICY => {
            check_administrator(call)?;
            return clear_policy(call, Scope::Operator).await;
        }
        _ => {}
    }
    deleted(parameters::delete(call.node(), &vhost, &component, &name)?).await
}

pub(crate) async fn list_global(call: &Call<'_>) -> Answer {
    let rows = parameters::all_global(call.node());
    call.list(Held::values(rows.iter().map(|row| json!(row)).collect())).await
}

pub(crate) async fn show_global(call: &Call<'_>) -> Answer {
    let name = call.text("name")?;
    let mut rows = parameters::all_global(call.node()).into_iter();
    call.object(&rows.find(|row| row.name == name).ok_or_else(ApiError::not_found)?)
}

pub(crate) async fn set_global(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["value"]).await?;
    let parameter = GlobalParameterDefinition { name: call.text("name")?.into(), value: value(&body) };
    put(parameters::put_global(call.node(), parameter)?).await
}

pub(crate) async fn clear_global(call: &Call<'_>) -> Answer {
    deleted(parameters::delete_global(call.node(), call.text("name")?)?).await
}

pub(crate) async fn show_cluster_name(call: &Call<'_>) -> Answer {
    call.object(&json!({"name": call.state.cluster_name()}))
}

pub(crate) async fn set_cluster_name(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["name"]).await?;
    let name = body.text("name")?.unwrap_or_default();
    let parameter = GlobalParameterDefinition { name: CLUSTER_NAME.into(), value: name.into() };
    kept(parameters::put_global(call.node(), parameter)?.commit).await?;
    nothing()
}
