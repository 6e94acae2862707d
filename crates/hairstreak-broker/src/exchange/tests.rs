//! Exchanges, tested by their public interface alone. Each file is about one thing; `model` is random topologies.

mod alternate;
mod auto_delete;
mod cache;
mod consistent_hash;
mod declare;
mod default;
mod exchange_bindings;
mod headers;
mod load_balancing;
mod model;
mod topology;
mod types;
