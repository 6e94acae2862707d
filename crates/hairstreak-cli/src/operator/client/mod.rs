//! A client of the management HTTP API that RabbitMQ defines: one request at a time, JSON both ways.
//!
//! - `address`: the API's URL and user
//! - `connector`: connections, with TLS or without
//! - `reason`: the text of an error of the API
//! - `error`: the errors of a request
//! - `http`: requests and answers

mod address;
mod connector;
mod error;
mod http;
mod reason;

pub use address::HttpAddress;
pub use error::HttpError;
pub use http::Client;
