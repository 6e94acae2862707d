//! The user of a request, and what a client may ask before it has one.

use std::sync::Arc;

use hairstreak_node::operator::users;
use serde_json::{Value, json};

use super::nodes::check_name;
use crate::http::about::{PRODUCT_NAME, PRODUCT_VERSION, RABBITMQ_VERSION};
use crate::http::call::{Answer, Call, nothing};
use crate::http::list::Held;

pub(crate) fn whoami(call: &Call<'_>) -> Answer {
    let identity = call.identity()?;
    let tags: Vec<&str> = identity.tags().iter().collect();
    call.object(&json!({"name": &**identity.user(), "tags": tags, "is_internal_user": true}))
}

pub(crate) fn version(call: &Call<'_>) -> Answer {
    call.object(&json!({"version": RABBITMQ_VERSION, "rabbitmq_version": RABBITMQ_VERSION,
        "product_name": PRODUCT_NAME, "product_version": PRODUCT_VERSION}))
}

/// How clients log in: by name and password only.
pub(crate) fn auth(call: &Call<'_>) -> Answer {
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

/// Attempts are not counted by the address of the client: strangers could make up as many as they like. RabbitMQ counts them only where
/// `track_auth_attempt_source` says so.
pub(crate) async fn attempts_by_source(call: &Call<'_>) -> Answer {
    check_name(call)?;
    call.list(Held::<Value>::default()).await
}

/// Counts attempts from 0 again.
pub(crate) fn reset_attempts(call: &Call<'_>) -> Answer {
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

/// The web page's plugins, of which there are none.
pub(crate) async fn extensions(call: &Call<'_>) -> Answer {
    call.list(Held::<Value>::default()).await
}
