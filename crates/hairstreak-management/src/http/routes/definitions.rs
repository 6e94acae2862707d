//! Definitions: export and import of the whole node or of one virtual host.

use std::sync::Arc;

use hairstreak_node::definitions::{DocumentError, read_document};
use hairstreak_node::operator::importing::{self, Imported};
use hairstreak_node::operator::users::By;
use hairstreak_node::operator::{OperatorError, definitions, virtual_hosts};
use hyper::header;
use serde_json::{Map, Value, json};

use crate::http::call::{Answer, Call, kept, nothing};
use crate::http::error::ApiError;
use crate::http::fields::{boundary, part};
use crate::http::response::Response;
use crate::http::state::{PRODUCT_NAME, PRODUCT_VERSION, RABBITMQ_VERSION, State};

pub(crate) async fn export(call: &Call<'_>) -> Answer {
    let vhost = vhost_of_path(call)?;
    let state = Arc::clone(call.state);
    let work = move || {
        let object = exported(&state, vhost.as_deref())?;
        Ok::<_, OperatorError>(serde_json::to_vec(&object).unwrap_or_default())
    };
    let response = Response::whole(call.work(None, work).await??);
    Ok(match call.request.query.get("download") {
        None => response,
        Some(name) => {
            let name = name.replace(['"', ';', '\r', '\n'], "");
            response.with_header(header::CONTENT_DISPOSITION, &format!("attachment; filename={name}"))
        }
    })
}

fn exported(state: &State, vhost: Option<&str>) -> Result<Map<String, Value>, OperatorError> {
    let mut object = head(state);
    let Some(vhost) = vhost else {
        object.insert("rabbitmq_definition_format".into(), "cluster".into());
        object.insert("original_cluster_name".into(), state.cluster_name().into());
        object.extend(definitions::export(&state.node, None)?.to_object());
        return Ok(object);
    };
    let host = virtual_hosts::find(&state.node, vhost)?;
    let metadata = json!({"description": host.description, "tags": host.tags,
        "default_queue_type": host.default_queue_type});
    object.insert("rabbitmq_definition_format".into(), "single_virtual_host".into());
    object.insert("original_vhost_name".into(), host.name.into());
    object.insert("description".into(), host.description.into());
    object.insert("metadata".into(), metadata);
    object.insert("limits".into(), json!(host.limits));
    object.extend(definitions::export(&state.node, Some(vhost))?.to_object_of_host());
    Ok(object)
}

fn head(state: &State) -> Map<String, Value> {
    let explanation = format!("Definitions of node '{}'", state.about.node_name);
    [
        ("rabbit_version", RABBITMQ_VERSION),
        ("rabbitmq_version", RABBITMQ_VERSION),
        ("product_name", PRODUCT_NAME),
        ("product_version", PRODUCT_VERSION),
        ("explanation", &explanation),
    ]
    .into_iter()
    .map(|(key, text)| (key.to_owned(), text.into()))
    .collect()
}

pub(crate) async fn import(call: &mut Call<'_>) -> Answer {
    let vhost = match vhost_of_path(call)? {
        Some(name) if call.node().hosts.find(&name).is_none() => {
            return Err(ApiError::missing("vhost_not_found"));
        }
        vhost => vhost,
    };
    let body = call.bytes_of_body(call.state.options.definitions_size_max).await?;
    let form = call.request.header(header::CONTENT_TYPE).and_then(boundary).map(str::to_owned);
    if body.is_empty() {
        return nothing();
    }
    let state = Arc::clone(call.state);
    let work = move || imported(&state, &body, form.as_deref(), vhost.as_deref());
    let mut imported = call.work(None, work).await??;
    for commit in std::mem::take(&mut imported.commits) {
        kept(commit).await?;
    }
    match imported.refusal() {
        None => nothing(),
        Some(reason) => Err(ApiError::bad_request(reason)),
    }
}

/// Imports a body, or the file of a form with that boundary.
fn imported(
    state: &State,
    body: &[u8],
    form: Option<&str>,
    vhost: Option<&str>,
) -> Result<Imported, ApiError> {
    let no_json = || ApiError::bad_request("failed_to_parse_json");
    let text = match form {
        None => body,
        Some(boundary) => part(body, boundary, "file").ok_or_else(no_json)?,
    };
    if text.is_empty() {
        return Ok(Imported::default());
    }
    let document = read_document(text, vhost).map_err(|error| match error {
        DocumentError::NoObject(reason) => ApiError::bad_request(format!("failed_to_parse_json: {reason}")),
        error @ DocumentError::Item { .. } => ApiError::bad_request(error.to_string()),
    })?;
    Ok(importing::import(&state.node, document, By::Operator)?)
}

/// The virtual host of the path. `None`: the whole node.
fn vhost_of_path(call: &Call<'_>) -> Result<Option<String>, ApiError> {
    call.name("vhost").map(|_| call.text("vhost").map(str::to_owned)).transpose()
}
