//! `HttpOptions`: the bounds of the management HTTP API, and the rules for browsers.

use std::time::Duration;

/// Options of the HTTP server.
#[derive(Clone, Debug)]
pub(crate) struct HttpOptions {
    /// The beginning of every path, such as `/rabbit`; empty: none.
    pub(crate) path_prefix: String,
    /// Every request needs credentials, also health checks of orchestrators and requests for the version.
    pub(crate) require_login: bool,
    /// Origins whose pages may call from a browser (CORS); `*`: all.
    pub(crate) allowed_origins: Vec<String>,
    /// Connections at a time; more are closed as they are accepted.
    pub(crate) connections_max: usize,
    /// The time for the first request header to come whole, and for the handshake of TLS.
    pub(crate) first_header_timeout: Duration,
    /// The time for each further request header to come whole; a connection that is idle as long is closed.
    pub(crate) header_timeout: Duration,
    /// The time after which a client that takes nothing of a response is closed.
    pub(crate) write_timeout: Duration,
    /// The time for a request body to come, with one second more for each 64 KiB that came.
    pub(crate) body_timeout: Duration,
    /// Bytes of a request body.
    pub(crate) body_size_max: usize,
    /// Bytes of a request body that holds definitions.
    pub(crate) definitions_size_max: usize,
    /// Bytes of all request bodies together, while they are read and answered.
    pub(crate) bodies_bytes_max: usize,
    /// Rows of all lists together that are being sent.
    pub(crate) rows_max: usize,
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            path_prefix: String::new(),
            require_login: false,
            allowed_origins: Vec::new(),
            connections_max: 4096,
            first_header_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            body_size_max: 16 << 20,
            definitions_size_max: 64 << 20,
            bodies_bytes_max: 256 << 20,
            rows_max: 1 << 20,
        }
    }
}
