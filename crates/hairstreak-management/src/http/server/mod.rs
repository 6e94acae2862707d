//! The HTTP server: a thread with connections of HTTP/1.1 on it, which knows nothing of queues.
//!
//! Reading order: [`HttpListener`], [`HttpServer`], `connection`, [`Service`] (the part that answers).

mod connection;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod server;
#[cfg(test)]
mod tests;

pub(crate) use connection::Service;
pub(crate) use server::{HttpListener, HttpServer};
