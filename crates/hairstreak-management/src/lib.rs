//! The operators' side of a node: RabbitMQ's management HTTP API, and metrics for Prometheus.
//!
//! ```text
//!   ManagementListeners::bind --serve(&Server)--> Management
//!   request --http::server--> http::api --> http::routes --> hairstreak_node::operator --> the node's state
//!                                  metrics::service --> metrics::scrape --------------------^
//! ```
//!
//! This crate depends on the node, and the node does not know it: the data path has no HTTP in it. The program that serves
//! binds these listeners first, then starts the node, then serves.

mod http;
mod management;
mod metrics;

#[doc(hidden)]
pub use http::HttpHarness;
pub use management::{Management, ManagementListeners};
