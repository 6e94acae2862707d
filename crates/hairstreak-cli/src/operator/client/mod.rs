//! A client of the management HTTP API that RabbitMQ defines: one request at a time, JSON both ways.
//!
//! - `address`: where the API is and who logs in
//! - `tls`: which authorities vouch for the server
//! - `reason`: what an error of the API says
//! - `error`: why a request did not work
//! - `http`: requests and answers

mod address;
mod error;
mod http;
mod reason;
mod tls;

pub use address::HttpAddress;
pub use error::HttpError;
pub use http::Client;
pub use tls::tls_config;
