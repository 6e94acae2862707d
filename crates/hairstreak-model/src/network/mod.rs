//! The networks between instances: an ideal network, links with measured costs, or a simulated fabric.

mod fabric;
mod kind;
mod links;

pub use fabric::{Fabric, FabricError, FabricKind, PORTS_MAX};
pub use kind::Network;
pub use links::{LinkCost, Links, LinksError, SIZES_MAX};
