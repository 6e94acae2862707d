//! Parameters of virtual hosts and of the node, and the name of the cluster.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::policies::escaped_for_html;
use crate::definitions::{Fields, GlobalParameterDefinition, ParameterDefinition};
use crate::http::call::{Answer, Call, deleted, kept, nothing, put};
use crate::http::error::ApiError;
use crate::http::list::Held;
use crate::operator::OperatorError;
use crate::operator::parameters::{self, CLUSTER_NAME};

/// The components that have parameters.
const COMPONENTS: [&str; 5] =
    ["vhost-limits", "shovel", "federation", "federation-upstream", "federation-upstream-set"];

pub(crate) fn list(call: &Call<'_>) -> Answer {
    let component = call.found.name("component").map(String::from_utf8_lossy);
    let hosts = call.hosts()?;
    let hosts: BTreeSet<&str> = hosts.iter().map(|host| host.name()).collect();
    let mut rows = parameters::all(call.node());
    rows.retain(|row| {
        hosts.contains(&*row.vhost) && component.as_ref().is_none_or(|name| **name == row.component)
    });
    call.list(Held::values(rows.iter().map(|row| json!(row)).collect()))
}

pub(crate) fn show(call: &Call<'_>) -> Answer {
    call.object(&find(call)?)
}

fn find(call: &Call<'_>) -> Result<ParameterDefinition, ApiError> {
    let host = call.vhost()?;
    let (component, name) = (call.text("component")?, call.text("name")?);
    let mut rows = parameters::all(call.node()).into_iter();
    let found = rows.find(|row| row.vhost == host.name() && row.component == component && row.name == name);
    found.ok_or_else(ApiError::not_found)
}

pub(crate) async fn set(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["value"]).await?;
    let host = call.vhost().map_err(|_| ApiError::missing("vhost_not_found"))?;
    let component = call.text("component")?;
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

fn value(body: &Fields) -> Value {
    body.get("value").cloned().unwrap_or_default()
}

pub(crate) async fn clear(call: &Call<'_>) -> Answer {
    let ParameterDefinition { vhost, component, name, .. } = find(call)?;
    deleted(parameters::delete(call.node(), &vhost, &component, &name)?).await
}

pub(crate) fn list_global(call: &Call<'_>) -> Answer {
    let rows = parameters::all_global(call.node());
    call.list(Held::values(rows.iter().map(|row| json!(row)).collect()))
}

pub(crate) fn show_global(call: &Call<'_>) -> Answer {
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

pub(crate) fn show_cluster_name(call: &Call<'_>) -> Answer {
    call.object(&json!({"name": call.state.cluster_name()}))
}

pub(crate) async fn set_cluster_name(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["name"]).await?;
    let name = body.text("name")?.unwrap_or_default();
    let parameter = GlobalParameterDefinition { name: CLUSTER_NAME.into(), value: name.into() };
    kept(parameters::put_global(call.node(), parameter)?.commit).await?;
    nothing()
}
