//! The management HTTP API, as RabbitMQ's management plugin has it.
//!
//! - `server`: connections, on a thread of their own; `options`: their limits
//! - `request`, `fields`: the path, the parameters and the body of a request
//! - `api`: from a request to its answer; `authorization`: the login; `call`: a request that may be answered; `state`: the state of all requests
//! - `routes`: the table of paths, and the functions by noun
//! - `list`, `rates`: lists of objects, and the growth of their counters
//! - `response`, `error`: the answer
//! - `worker`: threads for operations that take long
//!
//! [`start`] is the whole face of the module.

mod api;
mod authorization;
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
mod server;
mod state;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use api::start;
pub(crate) use authorization::Credentials;
pub(crate) use error::ApiError;
#[doc(hidden)]
pub use harness::HttpHarness;
pub(crate) use options::HttpOptions;
pub(crate) use rates::{Figure, Figures, add_churn, channel_stats, node_figures, queue_stats};
pub(crate) use request::{Bounds, Query, Request, Share};
pub(crate) use response::{Chunks, Response};
pub(crate) use routes::{ConnectionIndex, Objects, channel_name};
pub(crate) use server::{HttpListener, HttpServer, Service};
pub(crate) use state::{
    About, ERLANG_VERSION, ListenerInfo, PRODUCT_NAME, PRODUCT_VERSION, RABBITMQ_VERSION, visit,
};
