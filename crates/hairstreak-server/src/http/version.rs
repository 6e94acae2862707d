//! The versions that the API says.

/// The version of RabbitMQ whose clients and tools are answered; the same as over AMQP.
pub(crate) const RABBITMQ_VERSION: &str = "3.13.7";
pub(crate) const PRODUCT_NAME: &str = "Hairstreak";
pub(crate) const PRODUCT_VERSION: &str = env!("CARGO_PKG_VERSION");
/// There is no Erlang; some tools want one to be there.
pub(crate) const ERLANG_VERSION: &str = "26.2.5";
pub(crate) const ERLANG_FULL_VERSION: &str = "none: Hairstreak is written in Rust";
