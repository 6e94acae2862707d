//! Policies and operator policies. A change takes as long as its pattern takes with the names of the virtual host, so that a thread of its own makes it.

use std::sync::Arc;

use hairstreak_broker::policy::Scope;
use hairstreak_node::definitions::{Arguments, Fields, PolicyDefinition};
use hairstreak_node::operator::{OperatorError, erlang, policies};
use serde_json::{Value, json};

use crate::http::call::{Answer, Call, deleted, put};
use crate::http::error::ApiError;
use crate::http::list::Held;

/// The policies of the virtual hosts where the user has permissions.
pub(crate) async fn list(call: &Call<'_>, scope: Scope) -> Answer {
    let hosts = call.hosts()?;
    let mut rows = policies::all(call.node(), scope);
    rows.retain(|row| hosts.iter().any(|host| host.name() == row.vhost));
    call.list(Held::values(rows.iter().map(|row| json!(row)).collect())).await
}

pub(crate) async fn show(call: &Call<'_>, scope: Scope) -> Answer {
    call.object(&find(call, scope)?)
}

fn find(call: &Call<'_>, scope: Scope) -> Result<PolicyDefinition, ApiError> {
    let (host, name) = (call.vhost()?, call.text("name")?);
    let mut rows = policies::all(call.node(), scope).into_iter();
    rows.find(|row| row.vhost == host.name() && row.name == name).ok_or_else(ApiError::not_found)
}

pub(crate) async fn set(call: &mut Call<'_>, scope: Scope) -> Answer {
    let body = call.body_with(&["pattern", "definition"]).await?;
    set_fields(call, scope, &body, |text| escaped(scope, text)).await
}

/// Sets the policy that the path names. `body` has the fields of the policy, and `refuse` makes an error of a text.
pub(super) async fn set_fields(
    call: &Call<'_>,
    scope: Scope,
    body: &Fields,
    refuse: impl Fn(String) -> ApiError,
) -> Answer {
    let host = call.vhost().map_err(|_| ApiError::missing("vhost_not_found"))?;
    let wrong = |reason: String| refuse(format!("Validation failed\n\n{reason}\n"));
    let definition: Arguments = match body.get("definition") {
        Some(value @ Value::Object(_)) => {
            serde_json::from_value(value.clone()).map_err(|error| wrong(error.to_string()))?
        }
        _ => return Err(wrong("definition should be an object".into())),
    };
    let priority = match body.integer("priority") {
        Ok(priority) => priority.unwrap_or(0),
        Err(_) => {
            let given = erlang(body.get("priority").unwrap_or(&Value::Null));
            return Err(wrong(format!("priority should be a number, actually was {given}")));
        }
    };
    let policy = PolicyDefinition {
        vhost: host.name().into(),
        name: call.text("name")?.into(),
        pattern: body.text("pattern")?.unwrap_or_default(),
        apply_to: body.text("apply-to")?.unwrap_or_else(|| "all".into()),
        definition,
        priority,
    };
    let state = Arc::clone(call.state);
    match call.work(Some(host.name()), move || policies::put(&state.node, scope, policy)).await? {
        Err(OperatorError::Bad(text)) => Err(refuse(text)),
        result => put(result?).await,
    }
}

pub(crate) async fn clear(call: &Call<'_>, scope: Scope) -> Answer {
    let (policy, host) = (find(call, scope)?, call.vhost()?);
    let state = Arc::clone(call.state);
    let work = move || policies::delete(&state.node, scope, &policy.vhost, &policy.name);
    deleted(call.work(Some(host.name()), work).await??).await
}

/// RabbitMQ escapes errors of users' policies for HTML, and errors of operators' policies not at all.
fn escaped(scope: Scope, text: String) -> ApiError {
    match scope {
        Scope::User => escaped_for_html(&text),
        Scope::Operator => ApiError::bad_request(text),
    }
}

/// 400, with a text that RabbitMQ escapes for HTML.
pub(super) fn escaped_for_html(text: &str) -> ApiError {
    ApiError::bad_request(text.replace('<', "&lt;").replace('>', "&gt;"))
}
