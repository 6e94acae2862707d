//! `Request`: an HTTP request before it is known what it asks for.

use std::net::SocketAddr;

use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName};
use hyper::http::request::Parts;

use super::body::Body;
use super::path::Path;
use super::query::Query;
use crate::http::bounds::Bounds;
use crate::http::options::HttpOptions;

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// `None`: the path is malformed, or has not the prefix of the options.
    pub(crate) path: Option<Path>,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// The address of the client.
    pub(crate) peer: SocketAddr,
    pub(crate) body: Body,
    /// The bounds of all requests together.
    pub(crate) bounds: Bounds,
}

impl Request {
    pub(crate) fn new(
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
        options: &HttpOptions,
        bounds: &Bounds,
    ) -> Request {
        let (Parts { method, uri, headers, .. }, incoming) = request.into_parts();
        Request {
            method,
            path: Path::parse(uri.path(), &options.path_prefix),
            query: Query::parse(uri.query().unwrap_or_default()),
            headers,
            peer,
            body: Body::new(incoming, options.body_timeout, bounds.clone()),
            bounds: bounds.clone(),
        }
    }

    /// A header as text. `None`: the header is missing, or is no text.
    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
