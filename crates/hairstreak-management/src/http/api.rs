//! `Api`: a request from its path to its answer.
//!
//! ```text
//!   path -> route (404) -> OPTIONS, method (405) -> credentials (401) -> tags (401) -> conditions (304, 412) -> function -> CORS, gzip
//! ```
//!
//! - Conditions of requests (RFC 9110, 13.1): `If-Match` and `If-None-Match`, as RabbitMQ's HTTP library answers them.
//! - Cross-origin resource sharing: the pages that may call from a browser, as in RabbitMQ's
//!   `management.cors.allow_origins`.

use std::io;
use std::sync::Arc;

use hairstreak_node::access::Identity;
use hairstreak_node::node::Node;
use hairstreak_node::process;
use hyper::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, AUTHORIZATION, CACHE_CONTROL, HeaderName,
    HeaderValue, IF_MATCH, IF_NONE_MATCH, ORIGIN, VARY,
};
use hyper::{Method, StatusCode};

use super::authorization::{Credentials, Requirement};
use super::call::{Answer, Call};
use super::error::ApiError;
use super::options::HttpOptions;
use super::rates::sample_forever;
use super::request::Request;
use super::response::Response;
use super::routes::{self, Route};
use super::server::{HttpListener, HttpServer, Service};
use super::state::{About, State};

const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const VARIES: HeaderValue = HeaderValue::from_static("accept, accept-encoding, origin");

/// The API as the server calls it.
struct Api(Arc<State>);

impl Service for Api {
    async fn answer(&self, request: &mut Request) -> Response {
        let mut response = self.find(request).await.unwrap_or_else(ApiError::into_response);
        if response.status == StatusCode::OK {
            response.headers.insert(CACHE_CONTROL, NO_CACHE);
        }
        response.headers.insert(VARY, VARIES);
        allow_origin(request, &self.0.options.allowed_origins, &mut response);
        response.compressed(request.header(ACCEPT_ENCODING))
    }

    async fn run(&self) {
        sample_forever(&self.0).await;
    }
}

impl Api {
    async fn find(&self, request: &mut Request) -> Answer {
        let found = request.path.as_ref().and_then(|path| routes::find(path.segments()));
        let (routes, names) = found.ok_or_else(ApiError::not_found)?;
        if request.method == Method::OPTIONS {
            return Ok(Response::empty(StatusCode::OK).with_header(ALLOW, &routes::allow(routes)));
        }
        let Some(route) = routes::of_method(routes, &request.method) else {
            let response = ApiError::method_not_allowed().into_response();
            return Ok(response.with_header(ALLOW, &routes::allow(routes)));
        };
        let requirement = route.requirement;
        let mut call = Call { state: &self.0, request, names, requirement, identity: None };
        if requirement != Requirement::Nothing || self.0.options.require_login {
            if !call.request.headers.contains_key(AUTHORIZATION) {
                return Ok(ApiError::credentials_wanted());
            }
            let credentials = Credentials::parse(call.request.header(AUTHORIZATION).unwrap_or_default())?;
            let check = |identity: &Identity| call.check(identity, identity.tags());
            let identity = credentials.verify(&self.0.node, call.request.peer, check).await?;
            call.identity = Some(identity);
        }
        if has_condition(call.request) {
            // The object of a path that cannot be read, such as the path of a purge, counts as existing.
            let exists = match routes::of_method(routes, &Method::GET) {
                None => true,
                Some(read) => {
                    (read.handler)(&mut call).await.is_ok_and(|response| response.status == StatusCode::OK)
                }
            };
            if let Some(status) = broken_condition(call.request, exists) {
                return Ok(Response::empty(status));
            }
        }
        let answer = (route.handler)(&mut call).await;
        if answer.as_ref().is_ok_and(|response| response.status.is_success()) {
            tell_of_change(route, &call);
        }
        answer
    }
}

/// Changes that the log leaves out, by the first word of the path: changes of the node, and of objects that clients
/// change, too.
const UNTOLD: [&str; 8] =
    ["bindings", "cluster-name", "connections", "exchanges", "feature-flags", "queues", "rebalance", "reset"];

/// The log has each change of users, of permissions and of settings for many objects, with the operator's name. The path names the changed object, and has no password.
fn tell_of_change(route: &Route, call: &Call<'_>) {
    let method = &call.request.method;
    let (Some(identity), Some(path)) = (&call.identity, &call.request.path) else { return };
    let is_change = [Method::PUT, Method::POST, Method::DELETE].contains(method);
    if is_change && !route.path.split('/').next().is_some_and(|word| UNTOLD.contains(&word)) {
        let (user, peer) = (&**identity.user(), call.request.peer.to_string());
        log::info!(user = user, peer = peer; "an operator's change: {method} {path}");
    }
}

/// Returns `true` if the request has a condition.
fn has_condition(request: &Request) -> bool {
    [IF_MATCH, IF_NONE_MATCH].iter().any(|name| request.headers.contains_key(name))
}

/// The status of the answer where a condition does not hold. `exists`: whether the object is there.
fn broken_condition(request: &Request, exists: bool) -> Option<StatusCode> {
    let value = |name: HeaderName| request.headers.get(name).map(|value| value.as_bytes());
    let is_read = [Method::GET, Method::HEAD].contains(&request.method);
    match (value(IF_MATCH), value(IF_NONE_MATCH)) {
        (Some(tags), _) if !exists || tags != b"*" => Some(StatusCode::PRECONDITION_FAILED),
        (_, Some(b"*")) if exists && is_read => Some(StatusCode::NOT_MODIFIED),
        (_, Some(_)) if exists => Some(StatusCode::PRECONDITION_FAILED),
        _ => None,
    }
}

/// Seconds for which a browser remembers the answer to OPTIONS.
const MAX_AGE: HeaderValue = HeaderValue::from_static("1800");

/// Adds the headers that allow the request's origin, if it is one of `origins`; `*`: any.
fn allow_origin(request: &Request, origins: &[String], response: &mut Response) {
    let Some(origin) = request.headers.get(ORIGIN) else { return };
    if !origins.iter().any(|allowed| allowed == "*" || allowed.as_bytes() == origin.as_bytes()) {
        return;
    }
    let allow = response.headers.get(ALLOW).cloned();
    let headers = &mut response.headers;
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("location"));
    if request.method == Method::OPTIONS {
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        if let Some(methods) = allow {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
        if let Some(names) = request.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
        }
    }
}

/// The part of the process's descriptors that connections may take: one of four.
const CONNECTIONS_PART: u64 = 4;

/// Serves the API of a node in a thread of its own.
///
/// # Errors
///
/// A listener cannot be used, or the thread cannot be started.
pub(crate) fn start(
    listeners: Vec<HttpListener>,
    mut options: HttpOptions,
    node: Arc<Node>,
    about: About,
) -> io::Result<HttpServer> {
    let descriptors = usize::try_from(process::descriptor_limit() / CONNECTIONS_PART).unwrap_or(usize::MAX);
    options.connections_max = options.connections_max.min(descriptors.max(1));
    let state = Arc::new(State::new(node, options.clone(), about));
    HttpServer::start(listeners, options, Api(state))
}
