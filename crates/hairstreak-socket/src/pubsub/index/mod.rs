//! `Index`: who subscribed to which prefixes, and who wants a given message.
//!
//! A radix tree: an edge carries as many bytes as all prefixes below it share. Looking a message up
//! walks down along its first bytes and collects the subscribers of every node on the way; it allocates
//! nothing, and costs as much for a hundred thousand prefixes as for ten of the same depth.
//!
//! Subscriptions are counted (RFC 37): who subscribes twice has to cancel twice.

mod children;
mod entries;
#[cfg(test)]
mod model;
mod node;
mod tree;

pub use tree::{Added, Index, Limits, Removed, SubscriptionError};
