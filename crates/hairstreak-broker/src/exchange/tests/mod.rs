//! Exchanges, tested by their public interface alone. Each file is about one thing; `model` is random topologies.

mod auto_delete;
mod bench;
mod consistent_hash;
mod declare;
mod exchange_bindings;
mod headers;
mod load_balancing;
mod model;
mod routing;
mod types;
