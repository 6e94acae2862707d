//! A client of the management HTTP API that RabbitMQ defines: one request at a time, JSON both ways.
//!
//! - `address`: where the API is and who logs in
//! - `connector`: connections, with TLS or without
//! - `reason`: what an error of the API says
//! - `error`: why a request did not work
//! - `http`: requests and answers

mod address;
mod connector;
mod error;
mod http;
mod reason;

pub use address::HttpAddress;
pub use error::HttpError;
pub use http::Client;
