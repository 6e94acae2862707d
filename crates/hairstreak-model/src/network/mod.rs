//! The networks that messages travel on between instances: nothing at all, links that were measured, or a simulated fabric.

mod fabric;
mod kind;
mod links;

pub use fabric::{Fabric, FabricError, FabricKind, PORTS_MAX};
pub use kind::Network;
pub use links::{LinkCost, Links, LinksError, SIZES_MAX};
