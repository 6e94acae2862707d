//! The management HTTP API, as RabbitMQ's management plugin has it.
//!
//! - `server`: connections, on a thread of their own; `options` and `bounds`: their limits
//! - `request`, `fields`: the path, the parameters and the body of a request
//! - `api`: from a request to its answer; `call`: a request that may be answered; `state`, `about`: what all of them share
//! - `routes`: the table of paths, and the functions by noun
//! - `rows`: objects as JSON; `list`, `rates`: lists of objects, and how fast their counters grow
//! - `response`, `error`: the answer
//! - `worker`: threads for what takes long
//!
//! [`start`] is the whole face of the module.

pub(crate) mod about;
mod api;
mod bounds;
mod call;
mod error;
mod fields;
mod harness;
mod list;
mod options;
mod rates;
mod request;
mod response;
mod routes;
mod rows;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use about::{About, ListenerInfo};
pub(crate) use api::{Credentials, compress, start};
pub(crate) use bounds::{Bounds, Share};
pub(crate) use error::ApiError;
#[doc(hidden)]
pub use harness::HttpHarness;
pub(crate) use options::HttpOptions;
pub(crate) use request::{Query, Request};
pub(crate) use response::{Chunks, Response};
pub(crate) use server::{HttpListener, HttpServer, Service};
