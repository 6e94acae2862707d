//! Workers and clients beside brokers that the tests are themselves.

mod broker;
mod client;
mod paused;
mod worker;
