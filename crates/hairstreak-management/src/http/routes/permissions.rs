//! Permissions and topic permissions of users in virtual hosts.

use hairstreak_node::definitions::{Fields, PermissionDefinition, TopicPermissionDefinition};
use hairstreak_node::operator::users::{self, By};
use hairstreak_node::operator::{Done, OperatorError, virtual_hosts};
use serde::Serialize;
use serde_json::json;

use super::users::put_or_missing;
use crate::http::call::{Answer, Call, deleted, nothing};
use crate::http::error::ApiError;
use crate::http::list::Held;

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    answer(call, &users::permissions(call.node())).await
}

pub(crate) async fn list_of_vhost(call: &Call<'_>) -> Answer {
    let vhost = existing_vhost(call)?;
    let mut rows = users::permissions(call.node());
    rows.retain(|row| row.vhost == vhost);
    answer(call, &rows).await
}

pub(crate) async fn list_of_user(call: &Call<'_>) -> Answer {
    let user = existing_user(call)?;
    let mut rows = users::permissions(call.node());
    rows.retain(|row| row.user == user);
    answer(call, &rows).await
}

pub(crate) fn show(call: &Call<'_>) -> Answer {
    call.object(&find(call)?)
}

fn find(call: &Call<'_>) -> Result<PermissionDefinition, ApiError> {
    let (vhost, user) = (existing_vhost(call)?, existing_user(call)?);
    let mut rows = users::permissions(call.node()).into_iter();
    rows.find(|row| row.user == user && row.vhost == vhost).ok_or_else(ApiError::not_found)
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
    answer(call, &users::topic_permissions(call.node())).await
}

pub(crate) async fn list_topics_of_vhost(call: &Call<'_>) -> Answer {
    let vhost = existing_vhost(call)?;
    let mut rows = users::topic_permissions(call.node());
    rows.retain(|row| row.vhost == vhost);
    answer(call, &rows).await
}

pub(crate) async fn list_topics_of_user(call: &Call<'_>) -> Answer {
    let user = existing_user(call)?;
    let mut rows = users::topic_permissions(call.node());
    rows.retain(|row| row.user == user);
    answer(call, &rows).await
}

/// The rows of a user in a virtual host; RabbitMQ gives all of them, also where the path names an exchange.
pub(crate) async fn show_topics(call: &Call<'_>) -> Answer {
    answer(call, &find_topics(call)?).await
}

fn find_topics(call: &Call<'_>) -> Result<Vec<TopicPermissionDefinition>, ApiError> {
    let (vhost, user) = (existing_vhost(call)?, existing_user(call)?);
    let mut rows = users::topic_permissions(call.node());
    rows.retain(|row| row.user == user && row.vhost == vhost);
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
    let exchange = call.found.name("exchange").map(String::from_utf8_lossy);
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

fn existing_vhost<'a>(call: &'a Call<'_>) -> Result<&'a str, ApiError> {
    let name = call.text("vhost")?;
    virtual_hosts::find(call.node(), name)?;
    Ok(name)
}

fn existing_user<'a>(call: &'a Call<'_>) -> Result<&'a str, ApiError> {
    let name = call.text("user")?;
    users::find(call.node(), name)?;
    Ok(name)
}

/// Rows by virtual host and user.
async fn answer<T: Serialize>(call: &Call<'_>, rows: &[T]) -> Answer {
    let rows = rows.iter().map(|row| json!(row)).collect();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let key = |row: &serde_json::Value| ["vhost", "user", "exchange"].map(|key| text(row, key));
    call.list(Held::sorted_by_key(rows, key)).await
}
