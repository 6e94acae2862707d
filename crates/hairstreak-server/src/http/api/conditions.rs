//! Conditions of requests (RFC 9110, 13.1): `If-Match` and `If-None-Match`, as RabbitMQ's HTTP library answers them.
//!
//! Objects have no entity tags, and so only `*` means something: an object, whatever it is. `PUT` with `If-None-Match: *` makes an object that is not
//! there, and `PUT` with `If-Match: *` changes an object that is there.

use hyper::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use hyper::{Method, StatusCode};

use crate::http::request::Request;

/// Whether the request has a condition.
pub(super) fn has_condition(request: &Request) -> bool {
    [IF_MATCH, IF_NONE_MATCH].iter().any(|name| request.headers.contains_key(name))
}

/// The status of the answer where a condition does not hold. `exists`: whether the object is there.
pub(super) fn broken(request: &Request, exists: bool) -> Option<StatusCode> {
    let value = |name: HeaderName| request.headers.get(name).map(|value| value.as_bytes());
    let is_read = [Method::GET, Method::HEAD].contains(&request.method);
    match (value(IF_MATCH), value(IF_NONE_MATCH)) {
        (Some(tags), _) if !exists || tags != b"*" => Some(StatusCode::PRECONDITION_FAILED),
        (_, Some(b"*")) if exists && is_read => Some(StatusCode::NOT_MODIFIED),
        (_, Some(_)) if exists => Some(StatusCode::PRECONDITION_FAILED),
        _ => None,
    }
}
