//! Limits of virtual hosts and of users.

use hairstreak_node::access::UserLimit;
use hairstreak_node::definitions::Fields;
use hairstreak_node::operator::{erlang, users, virtual_hosts};
use serde_json::{Value, json};

use super::users::exists;
use crate::http::call::{Answer, Call, deleted, kept, nothing};
use crate::http::error::ApiError;
use crate::http::list::Held;

pub(crate) async fn list_of_vhosts(call: &Call<'_>) -> Answer {
    let hosts = call.hosts()?;
    let definitions = virtual_hosts::all(call.node()).into_iter();
    let limited = definitions
        .filter(|definition| !definition.limits.is_empty())
        .filter(|definition| hosts.iter().any(|host| host.name() == definition.name));
    let rows = limited.map(|definition| json!({"vhost": definition.name, "value": definition.limits}));
    call.list(Held::values(rows.collect())).await
}

pub(crate) async fn set_of_vhost(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["value"]).await?;
    let host = call.vhost().map_err(|_| ApiError::missing("vhost_not_found"))?;
    let name = call.text("name")?;
    let value = body.get("value").cloned().unwrap_or_default();
    let limits = virtual_hosts::read_limits(&[(name.to_owned(), value)].into_iter().collect())?;
    kept(virtual_hosts::set_limit(call.node(), host.name(), name, limits.get(name).copied())?).await?;
    nothing()
}

pub(crate) async fn clear_of_vhost(call: &Call<'_>) -> Answer {
    let host = call.vhost()?;
    deleted(virtual_hosts::set_limit(call.node(), host.name(), call.text("name")?, None)?).await
}

pub(crate) async fn list_of_users(call: &Call<'_>) -> Answer {
    let all = match call.name("user") {
        None => users::all(call.node()),
        Some(_) => vec![users::find(call.node(), call.text("user")?)?],
    };
    let limited = all.into_iter().filter(|user| !user.limits.is_empty());
    let rows = limited.map(|user| json!({"user": user.name, "value": user.limits}));
    call.list(Held::values(rows.collect())).await
}

pub(crate) async fn set_of_user(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["value"]).await?;
    let (user, name) = (call.text("user")?, call.text("name")?);
    exists(call.node(), user)?;
    let Some(limit) = UserLimit::from_name(name) else {
        let value = erlang(body.get("value").unwrap_or(&Value::Null));
        let text = format!("Unrecognised terms [{{<<\"{name}\">>,{value}}}] in user-limits");
        return Err(ApiError::bad_request(text));
    };
    let value = value(&body, name)?;
    kept(users::set_limit(call.node(), user, limit, Some(value))?).await?;
    nothing()
}

pub(crate) async fn clear_of_user(call: &Call<'_>) -> Answer {
    let user = call.text("user")?;
    users::find(call.node(), user)?;
    match UserLimit::from_name(call.text("name")?) {
        Some(limit) => deleted(users::set_limit(call.node(), user, limit, None)?).await,
        None => nothing(),
    }
}

/// The value of a limit; digits in a string count.
fn value(body: &Fields, name: &str) -> Result<i64, ApiError> {
    let given = body.get("value").unwrap_or(&Value::Null);
    let wrong =
        || ApiError::bad_request(format!("{name} should be a number, actually was {}", erlang(given)));
    body.integer("value").ok().flatten().ok_or_else(wrong)
}
