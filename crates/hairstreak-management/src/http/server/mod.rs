//! The HTTP server: a thread with connections of HTTP/1.1 on it, which knows nothing of queues.
//!
//! Reading order: [`HttpListener`], [`HttpServer`], `connection`, `idle`, [`Service`] (the part that answers), `timed_stream`.

mod connection;
mod idle;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod server;
mod service;
#[cfg(test)]
mod tests;
mod timed_stream;

pub(super) use idle::Busy;
pub(crate) use server::{HttpListener, HttpServer};
pub(crate) use service::Service;
