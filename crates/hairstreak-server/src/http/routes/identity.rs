//! The user of a request, and what a client may ask before it has one.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::http::call::{Answer, Call};
use crate::http::list::Held;
use crate::http::version::{PRODUCT_NAME, PRODUCT_VERSION, RABBITMQ_VERSION};
use crate::operator::users;

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

pub(crate) async fn attempts(call: &Call<'_>) -> Answer {
    let figures = call.node().access.login_figures();
    let (succeeded, failed) = (figures.succeeded, figures.failed);
    let row = json!({"protocol": "all", "auth_attempts": succeeded + failed,
        "auth_attempts_failed": failed, "auth_attempts_succeeded": succeeded});
    call.list(Held::new(vec![row])).await
}

/// Attempts are not counted by the address of the client.
pub(crate) async fn attempts_by_source(call: &Call<'_>) -> Answer {
    call.list(Held::<Value>::default()).await
}

/// The hash of a password in a form that definitions take.
pub(crate) async fn hash_password(call: &Call<'_>) -> Answer {
    let (state, password) = (Arc::clone(call.state), call.bytes("password").to_vec());
    let hash = call.state.workers.run(move || users::hash_password(&state.node, &password)).await??;
    call.object(&json!({"ok": hash.to_export()}))
}

/// The web page's plugins, of which there are none.
pub(crate) async fn extensions(call: &Call<'_>) -> Answer {
    call.list(Held::<Value>::default()).await
}
