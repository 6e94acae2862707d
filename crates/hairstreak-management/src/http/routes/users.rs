//! Users: lists, single ones, creation, deletion; the user of a request, and the ways to log in.

use std::sync::Arc;

use hairstreak_node::access::PasswordHash;
use hairstreak_node::definitions::{Fields, UserDefinition};
use hairstreak_node::node::Node;
use hairstreak_node::operator::users::{self, By, UserChanges};
use hairstreak_node::operator::{Done, OperatorError};
use serde_json::{Value, json};

use super::nodes::check_name;
use crate::http::call::{Answer, Call, deleted, kept, nothing, put};
use crate::http::error::ApiError;
use crate::http::list::Held;

/// The default algorithm of a hash.
const DEFAULT_ALGORITHM: &str = "rabbit_password_hashing_sha256";

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    answer(call, users::all(call.node())).await
}

/// The users that have no permissions.
pub(crate) async fn list_without_permissions(call: &Call<'_>) -> Answer {
    let permissions = users::permissions(call.node());
    let mut all = users::all(call.node());
    all.retain(|user| permissions.iter().all(|row| row.user != user.name));
    answer(call, all).await
}

async fn answer(call: &Call<'_>, users: Vec<UserDefinition>) -> Answer {
    call.list(Held::values(users.iter().map(|user| json!(user)).collect())).await
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    call.object(&users::find(call.node(), call.text("user")?)?)
}

pub(crate) async fn create(call: &mut Call<'_>) -> Answer {
    let body = call.body().await?;
    let name = call.text("user")?;
    let Some(tags) = body.words("tags")? else { return Err(ApiError::bad_request("tags_not_present")) };
    let password_hash = match password(&body)? {
        Password::Text(text) => hash(call, text).await?,
        Password::Hash(text, algorithm) => read_hash(&text, &algorithm)?,
        // Neither: the user cannot log in with a password.
        Password::None => PasswordHash::none(),
    };
    let limits = match body.get("limits") {
        None => None,
        Some(value) => Some(
            serde_json::from_value(value.clone())
                .map_err(|error| ApiError::bad_request(format!("limits: {error}")))?,
        ),
    };
    let changes = UserChanges {
        password_hash: Some(password_hash),
        tags: Some(tags),
        limits,
        curve: body.text("curve")?,
    };
    put(users::put(call.node(), name, changes, By::Operator)?).await
}

/// The password of a body.
enum Password {
    None,
    Text(String),
    /// A hash, and its algorithm.
    Hash(String, String),
}

fn password(body: &Fields) -> Result<Password, ApiError> {
    match (body.get("password"), body.text("password_hash")?) {
        (Some(_), Some(_)) => Err(ApiError::bad_request("both_password_and_password_hash_are_provided")),
        (Some(Value::String(text)), None) if text.is_empty() => Ok(Password::None),
        (Some(Value::String(text)), None) => Ok(Password::Text(text.clone())),
        (Some(other), None) => Err(ApiError::wrong_field("not_string", other.clone())),
        (None, None) => Ok(Password::None),
        (None, Some(hash)) if hash.is_empty() => Ok(Password::None),
        (None, Some(hash)) => {
            let algorithm = body.text("hashing_algorithm")?.unwrap_or_else(|| DEFAULT_ALGORITHM.into());
            Ok(Password::Hash(hash, algorithm))
        }
    }
}

fn read_hash(text: &str, algorithm: &str) -> Result<PasswordHash, ApiError> {
    users::read_hash(text, Some(algorithm)).map_err(|error| match error {
        OperatorError::Bad(reason) => ApiError::bad_request(reason),
        error => error.into(),
    })
}

/// Hashes a password, which takes tens of milliseconds.
async fn hash(call: &Call<'_>, password: String) -> Result<PasswordHash, ApiError> {
    let state = Arc::clone(call.state);
    let hash = move || users::hash_password(&state.node, password.as_bytes());
    Ok(call.work(None, hash).await??)
}

pub(crate) async fn delete(call: &Call<'_>) -> Answer {
    deleted(users::delete(call.node(), call.text("user")?, By::Operator)?).await
}

/// Deletes several users, or none if one of them does not exist.
pub(crate) async fn bulk_delete(call: &mut Call<'_>) -> Answer {
    let body = call.body_with(&["users"]).await?;
    let Some(Value::Array(_)) = body.get("users") else {
        return Err(ApiError::wrong_field("not_list", body.get("users").cloned()));
    };
    let names = body.words("users")?.unwrap_or_default();
    names.iter().try_for_each(|name| exists(call.node(), name))?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    kept(users::delete_all(call.node(), &names, By::Operator)?).await?;
    nothing()
}

/// Fails with RabbitMQ's pair if there is no such user.
pub(super) fn exists(node: &Node, name: &str) -> Result<(), ApiError> {
    match users::find(node, name) {
        Ok(_) => Ok(()),
        Err(_) => Err(ApiError::wrong_field("no_such_user", name)),
    }
}

/// The answer to a PUT of a definition that an operator's function made.
pub(super) async fn put_or_missing(result: Result<Done, OperatorError>) -> Answer {
    match result {
        Err(OperatorError::NotFound) => Err(ApiError::bad_request("vhost_or_user_not_found")),
        result => put(result?).await,
    }
}

pub(crate) async fn whoami(call: &Call<'_>) -> Answer {
    let identity = call.identity()?;
    let tags: Vec<&str> = identity.tags().iter().collect();
    call.object(&json!({"name": &**identity.user(), "tags": tags, "is_internal_user": true}))
}

/// The ways in which clients log in: by name and password only.
pub(crate) async fn auth(call: &Call<'_>) -> Answer {
    call.object(
        &json!({"oauth_enabled": false, "enable_uaa": false, "uaa_client_id": "", "uaa_location": ""}),
    )
}

/// The attempts to log in by each protocol that had one.
pub(crate) async fn attempts(call: &Call<'_>) -> Answer {
    check_name(call)?;
    let counts = call.node().access.login_counts().into_iter();
    let rows = counts.filter(|(_, counts)| counts.attempts() > 0).map(|(protocol, counts)| {
        json!({"protocol": protocol.name(), "auth_attempts": counts.attempts(),
            "auth_attempts_failed": counts.failed, "auth_attempts_succeeded": counts.succeeded})
    });
    call.list(Held::new(rows.collect())).await
}

/// Attempts are not counted by the address of the client: strangers could make up any number of addresses. RabbitMQ
/// counts them only with `track_auth_attempt_source`.
pub(crate) async fn attempts_by_source(call: &Call<'_>) -> Answer {
    check_name(call)?;
    call.list(Held::<Value>::default()).await
}

/// Counts attempts from 0 again.
pub(crate) async fn reset_attempts(call: &Call<'_>) -> Answer {
    check_name(call)?;
    call.node().access.reset_login_counts();
    nothing()
}

/// The hash of a password in a form that definitions take.
pub(crate) async fn hash_password(call: &Call<'_>) -> Answer {
    let (state, password) = (Arc::clone(call.state), call.bytes("password").to_vec());
    let hash = call.work(None, move || users::hash_password(&state.node, &password)).await??;
    call.object(&json!({"ok": hash.to_export()}))
}
