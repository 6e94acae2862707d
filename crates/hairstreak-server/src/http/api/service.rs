//! `Api`: a request from its path to its answer.
//!
//! ```text
//!   path -> route (404) -> OPTIONS, method (405) -> credentials (401) -> tags (401) -> conditions (304, 412) -> function -> CORS, gzip
//! ```

use std::sync::Arc;

use hyper::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, HeaderValue, VARY};
use hyper::{Method, StatusCode};

use super::compression;
use super::conditions;
use super::cors;
use super::credentials::Credentials;
use crate::access::Identity;
use crate::http::call::{Answer, Call};
use crate::http::error::ApiError;
use crate::http::rates::sample_forever;
use crate::http::request::Request;
use crate::http::response::Response;
use crate::http::routes::{self, Found, Requirement, Resource};
use crate::http::server::Service;
use crate::http::state::State;

const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const VARIES: HeaderValue = HeaderValue::from_static("accept, accept-encoding, origin");

/// The API as the server calls it.
pub(crate) struct Api(pub(crate) Arc<State>);

impl Service for Api {
    async fn answer(&self, request: &mut Request) -> Response {
        let mut response = self.find(request).await.unwrap_or_else(ApiError::into_response);
        if response.status == StatusCode::OK {
            response.headers.insert(CACHE_CONTROL, NO_CACHE);
        }
        response.headers.insert(VARY, VARIES);
        cors::allow(request, &self.0.options.allowed_origins, &mut response);
        compression::compress(request, response)
    }

    async fn run(&self) {
        sample_forever(&self.0).await;
    }
}

impl Api {
    async fn find(&self, request: &mut Request) -> Answer {
        let found = request.path.as_ref().and_then(|path| routes::find(path.segments()));
        let found = found.ok_or_else(ApiError::not_found)?;
        if request.method == Method::OPTIONS {
            return Ok(Response::empty(StatusCode::OK).with_header(ALLOW, &found.route.allow()));
        }
        let Some(requirement) = found.route.requirement(&request.method) else {
            let response = ApiError::method_not_allowed().into_response();
            return Ok(response.with_header(ALLOW, &found.route.allow()));
        };
        self.authorize(request, found, requirement).await
    }

    async fn authorize(&self, request: &mut Request, found: Found, requirement: Requirement) -> Answer {
        let mut call = Call { state: &self.0, request, found, requirement, identity: None };
        if requirement != Requirement::Nothing || self.0.options.require_login {
            if !call.request.headers.contains_key(AUTHORIZATION) {
                return Ok(ApiError::credentials_wanted());
            }
            let credentials = Credentials::parse(call.request.header(AUTHORIZATION).unwrap_or_default())?;
            let check = |identity: &Identity| call.check(identity, identity.tags());
            let identity = credentials.verify(&self.0.node, call.request.peer, check).await?;
            call.identity = Some(identity);
        }
        if conditions::has_condition(call.request) {
            let exists = exists(&mut call).await;
            if let Some(status) = conditions::broken(call.request, exists) {
                return Ok(Response::empty(status));
            }
        }
        let answer = routes::dispatch(&mut call).await;
        if answer.as_ref().is_ok_and(|response| response.status.is_success()) {
            tell_of_change(&call);
        }
        answer
    }
}

/// The log has each change of users, of permissions and of settings for many objects, with the operator's name. The path names the changed object, and has no password.
fn tell_of_change(call: &Call<'_>) {
    let method = &call.request.method;
    let (Some(identity), Some(path)) = (&call.identity, &call.request.path) else { return };
    let is_change = [Method::PUT, Method::POST, Method::DELETE].contains(method);
    if is_change && matches!(call.found.route.resource, Resource::Users(_) | Resource::Settings(_)) {
        let (user, peer) = (&**identity.user(), call.request.peer.to_string());
        log::info!(user = user, peer = peer; "an operator's change: {method} {path}");
    }
}

/// Whether the object of a path exists. The object of a path that cannot be read, such as the path of a purge, counts as existing.
async fn exists(call: &mut Call<'_>) -> bool {
    if call.found.route.requirement(&Method::GET).is_none() {
        return true;
    }
    let method = std::mem::replace(&mut call.request.method, Method::GET);
    let answer = routes::dispatch(call).await;
    call.request.method = method;
    answer.is_ok_and(|response| response.status == StatusCode::OK)
}
