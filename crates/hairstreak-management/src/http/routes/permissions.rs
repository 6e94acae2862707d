//! Permissions and topic permissions of users in virtual hosts.

use hairstreak_node::definitions::{Fields, PermissionDefinition, TopicPermissionDefinition};
use hairstreak_node::operator::users::{self, By};
use hairstreak_node::operator::{Done, OperatorError, virtual_hosts};
use serde::Serialize;
use serde_json::{Value, json};

use super::users::put_or_missing;
use crate::http::call::{Answer, Call, deleted, nothing};
use crate::http::error::ApiError;
use crate::http::list::Held;

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    answer(call, &permissions(call)?).await
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    call.object(&find(call)?)
}

fn find(call: &Call<'_>) -> Result<PermissionDefinition, ApiError> {
    permissions(call)?.pop().ok_or_else(ApiError::not_found)
}

pub(crate) async fn set(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["configure", "write", "read"]).await?;
    let row = PermissionDefinition {
        user: call.text("user")?.into(),
        vhost: call.text("vhost")?.into(),
        configure: pattern(&body, "configure")?,
        write: pattern(&body, "write")?,
        read: pattern(&body, "read")?,
    };
    put_or_missing(users::set_permission(call.node(), row, By::Operator)).await
}

pub(crate) async fn clear(call: &Call<'_>) -> Answer {
    let row = find(call)?;
    deleted(users::clear_permission(call.node(), &row.vhost, &row.user, By::Operator)?).await
}

pub(crate) async fn list_topics(call: &Call<'_>) -> Answer {
    answer(call, &topic_permissions(call)?).await
}

/// The rows of a user in a virtual host; RabbitMQ gives all of them, also where the path names an exchange.
pub(crate) async fn show_topics(call: &Call<'_>) -> Answer {
    answer(call, &find_topics(call)?).await
}

fn find_topics(call: &Call<'_>) -> Result<Vec<TopicPermissionDefinition>, ApiError> {
    let rows = topic_permissions(call)?;
    if rows.is_empty() { Err(ApiError::not_found()) } else { Ok(rows) }
}

pub(crate) async fn set_topic(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["exchange", "write", "read"]).await?;
    let row = TopicPermissionDefinition {
        user: call.text("user")?.into(),
        vhost: call.text("vhost")?.into(),
        exchange: pattern(&body, "exchange")?,
        write: pattern(&body, "write")?,
        read: pattern(&body, "read")?,
    };
    // All rows of a user in a virtual host are one object, as in RabbitMQ.
    let is_new = find_topics(call).is_err();
    let done =
        users::set_topic_permission(call.node(), row, By::Operator).map(|done| Done { is_new, ..done });
    put_or_missing(done).await
}

pub(crate) async fn clear_topics(call: &Call<'_>) -> Answer {
    find_topics(call)?;
    let exchange = call.name("exchange").map(String::from_utf8_lossy);
    let (vhost, user) = (call.text("vhost")?, call.text("user")?);
    match users::clear_topic_permissions(call.node(), vhost, user, exchange.as_deref(), By::Operator) {
        // The user has other rows.
        Err(OperatorError::NotFound) => nothing(),
        result => deleted(result?).await,
    }
}

fn pattern(body: &Fields, name: &str) -> Result<String, ApiError> {
    Ok(body.text(name)?.unwrap_or_default())
}

/// The permissions of the virtual host and of the user in the path, or of all.
fn permissions(call: &Call<'_>) -> Result<Vec<PermissionDefinition>, ApiError> {
    of_path(call, users::permissions(call.node()), |row| (&row.vhost, &row.user))
}

/// The topic permissions of the virtual host and of the user in the path, or of all.
fn topic_permissions(call: &Call<'_>) -> Result<Vec<TopicPermissionDefinition>, ApiError> {
    of_path(call, users::topic_permissions(call.node()), |row| (&row.vhost, &row.user))
}

fn of_path<T>(
    call: &Call<'_>,
    mut rows: Vec<T>,
    ends: impl Fn(&T) -> (&str, &str),
) -> Result<Vec<T>, ApiError> {
    if call.name("vhost").is_some() {
        let vhost = virtual_hosts::find(call.node(), call.text("vhost")?)?.name;
        rows.retain(|row| ends(row).0 == vhost);
    }
    if call.name("user").is_some() {
        let user = users::find(call.node(), call.text("user")?)?.name;
        rows.retain(|row| ends(row).1 == user);
    }
    Ok(rows)
}

/// Rows by virtual host and user.
async fn answer<T: Serialize>(call: &Call<'_>, rows: &[T]) -> Answer {
    let rows = rows.iter().map(|row| json!(row)).collect();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let key = |row: &Value| ["vhost", "user", "exchange"].map(|key| text(row, key));
    call.list(Held::sorted_by_key(rows, key)).await
}
