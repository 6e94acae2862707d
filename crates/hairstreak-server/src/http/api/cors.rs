//! Cross-origin resource sharing: which pages may call from a browser, as RabbitMQ's `management.cors.allow_origins` says.

use hyper::Method;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, HeaderValue, ORIGIN,
};

use crate::http::request::Request;
use crate::http::response::Response;

/// Seconds for which a browser remembers the answer to OPTIONS.
const MAX_AGE: HeaderValue = HeaderValue::from_static("1800");

/// Adds the headers that allow the request's origin, if it is one of `origins`; `*`: any.
pub(super) fn allow(request: &Request, origins: &[String], response: &mut Response) {
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
