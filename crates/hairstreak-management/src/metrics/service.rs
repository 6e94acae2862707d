//! `Metrics`: requests for pages.
//!
//! A client on this host needs no credentials, unless the node is configured so. A client of another host needs the
//! credentials of a user with the tag `monitoring`, unless the node is configured to serve every client.
//!
//! - `start`: the metrics of a node on their listeners.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hairstreak_node::access::Identity;
use hairstreak_node::node::Node;
use hyper::header::{ACCEPT_ENCODING, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use hyper::{Method, StatusCode};

use super::exposition::CONTENT_TYPE as TEXT;
use super::scrape::{State, scrape};
use super::selection::{Registry, Selection};
use crate::http::{
    About, ApiError, Credentials, HttpListener, HttpOptions, HttpServer, Request, Response, Service,
};

/// The clients that may read metrics without credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// None.
    Users,
    /// Clients on this host.
    Loopback,
    /// All.
    Anyone,
}

impl Readers {
    /// `require_login`: clients on this host need credentials, too. `anonymous`: no client does.
    pub(crate) fn new(require_login: bool, anonymous: bool) -> Readers {
        match (anonymous, require_login) {
            (true, _) => Readers::Anyone,
            (false, true) => Readers::Users,
            (false, false) => Readers::Loopback,
        }
    }

    /// Returns `true` if a client at this address needs no credentials.
    fn may_be_anonymous(self, address: IpAddr) -> bool {
        match self {
            Readers::Users => false,
            Readers::Loopback => address.to_canonical().is_loopback(),
            Readers::Anyone => true,
        }
    }
}

/// The methods that pages have.
const METHODS: &str = "GET, HEAD, OPTIONS";

/// The endpoint as the server calls it.
struct Metrics {
    state: Arc<State>,
    readers: Readers,
}

impl Service for Metrics {
    async fn answer(&self, request: &mut Request) -> Response {
        let response = self.find(request).await.unwrap_or_else(ApiError::into_response);
        response.compressed(request.header(ACCEPT_ENCODING))
    }
}

impl Metrics {
    async fn find(&self, request: &Request) -> Result<Response, ApiError> {
        let registry = request.path.as_ref().and_then(|path| Registry::of_path(path.segments()));
        let registry = registry.ok_or_else(ApiError::not_found)?;
        match request.method {
            Method::GET | Method::HEAD => {}
            Method::OPTIONS => return Ok(Response::empty(StatusCode::OK).with_header(ALLOW, METHODS)),
            _ => return Ok(ApiError::method_not_allowed().into_response().with_header(ALLOW, METHODS)),
        }
        if !self.readers.may_be_anonymous(request.peer.ip()) {
            let Some(header) = request.header(AUTHORIZATION) else {
                return Ok(ApiError::credentials_wanted());
            };
            let credentials = Credentials::parse(header)?;
            let check = |identity: &Identity| match identity.tags().may_monitor() {
                true => Ok(()),
                false => Err(ApiError::not_authorised("Not monitor user")),
            };
            credentials.verify(&self.state.node, request.peer, check).await?;
        }
        let selection = Selection::new(registry, &request.query);
        let page = scrape(&self.state, &selection, &request.bounds).await;
        let response = Response::stream(Box::new(page)).with_header(CACHE_CONTROL, "no-cache");
        Ok(response.with_header(CONTENT_TYPE, TEXT))
    }
}

/// Connections at a time. A scraper has one.
const CONNECTIONS_MAX: usize = 256;
/// Rows of all pages together that are being sent: about 100 MiB.
const ROWS_MAX: usize = 1 << 18;

/// Serves the metrics of a node in a thread of its own.
///
/// # Errors
///
/// A listener cannot be used, or the thread cannot be started.
pub(crate) fn start(
    listeners: Vec<HttpListener>,
    node: Arc<Node>,
    about: About,
    readers: Readers,
) -> io::Result<HttpServer> {
    let options =
        HttpOptions { connections_max: CONNECTIONS_MAX, rows_max: ROWS_MAX, ..HttpOptions::default() };
    let state = Arc::new(State { node, about, started: Instant::now() });
    HttpServer::start(listeners, options, Metrics { state, readers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_on_this_host_need_no_credentials() {
        for (readers, address, is_free) in [
            (Readers::Users, "127.0.0.1", false),
            (Readers::Loopback, "127.0.0.1", true),
            (Readers::Loopback, "::1", true),
            (Readers::Loopback, "::ffff:127.0.0.1", true),
            (Readers::Loopback, "192.168.0.1", false),
            (Readers::Loopback, "::ffff:192.168.0.1", false),
            (Readers::Anyone, "192.168.0.1", true),
        ] {
            assert_eq!(readers.may_be_anonymous(address.parse().unwrap()), is_free, "{readers:?} {address}");
        }
    }
}
