//! `HttpListener`: a place where the server accepts connections, with TLS or without.

use std::io;
use std::net::{SocketAddr, TcpListener};

use hairstreak_transport::tls::TlsServer;

/// A bound socket, and the certificates of connections that have TLS.
#[derive(Debug)]
pub(crate) struct HttpListener {
    pub(super) socket: TcpListener,
    pub(super) tls: Option<TlsServer>,
}

impl HttpListener {
    /// Has the connections speak TLS.
    pub(crate) fn with_tls(self, tls: TlsServer) -> HttpListener {
        HttpListener { tls: Some(tls), ..self }
    }

    /// The address, with the real port.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// RabbitMQ's word for what is spoken.
    pub(crate) fn protocol(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

impl From<TcpListener> for HttpListener {
    fn from(socket: TcpListener) -> HttpListener {
        HttpListener { socket, tls: None }
    }
}
