//! The management HTTP API, as RabbitMQ's management plugin has it.
//!
//! - `server`: connections, on a thread of their own; `options` and `bounds`: their limits
//! - `request`, `fields`: the path, the parameters and the body of a request
//! - `authentication`, `authorization`, `cors`: whether a client may
//! - `list`, `rates`: lists of objects, and how fast their counters grow
//! - `response`, `error`, `compression`: the answer

mod authentication;
mod authorization;
mod bounds;
mod compression;
mod cors;
mod error;
mod fields;
mod list;
mod options;
mod rates;
mod request;
mod response;
mod server;

pub(crate) use authentication::{Authenticator, Credentials, Denied, Identity};
pub(crate) use options::HttpOptions;
pub(crate) use server::HttpServer;
