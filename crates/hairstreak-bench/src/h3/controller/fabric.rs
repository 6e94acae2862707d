//! The simulated Data Vortex of a benchmark: a thread of the controller owns the switch, all agents attach to it.

use std::thread;

use anyhow::{Context, Result};
use hairstreak_transport::Endpoint;
use hairstreak_transport::vortex::{Fabric, FabricFacts, FabricOptions, FabricStopper};

use crate::h3::plan::Side;

/// A fabric of the default size that runs. Dropping it ends it.
#[derive(Debug)]
pub struct OwnFabric {
    name: String,
    /// The shape of the fabric, and the length of its slots.
    pub facts: FabricFacts,
    stopper: FabricStopper,
}

impl OwnFabric {
    /// Starts a fabric that no other process on this host has.
    pub fn start() -> Result<OwnFabric> {
        let name = format!("hairstreak-h3-{}", std::process::id());
        let mut fabric = Fabric::bind(&FabricOptions::new(&name)).context("the fabric")?;
        let (facts, stopper) = (fabric.facts(), fabric.stopper());
        let run = move || {
            if let Err(error) = fabric.run() {
                eprintln!("hairstreak-bench: the fabric: {error}");
            }
        };
        thread::Builder::new().name("fabric".into()).spawn(run).context("the fabric")?;
        Ok(OwnFabric { name, facts, stopper })
    }

    /// The place of an agent of that side and node: each has a rank of its own, senders the first ones.
    pub fn place(&self, side: Side, node: usize) -> String {
        let rank = 2 * side as usize + node;
        format!("vortex://{}/{rank}:*", self.name)
    }
}

impl Drop for OwnFabric {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// `endpoint` as the sender of `node` connects to it: on a fabric, from the sender's own card.
///
/// Errors: the text is no endpoint.
pub fn as_sender(endpoint: &str, node: usize) -> Result<String> {
    let mut endpoint = endpoint.parse()?;
    if let Endpoint::Vortex(address) = &mut endpoint {
        address.from = Some(node as u32);
    }
    Ok(endpoint.to_string())
}

#[cfg(test)]
mod tests {
    use super::as_sender;

    #[test]
    fn a_sender_connects_from_its_own_card() {
        assert_eq!(as_sender("vortex://lab/3:5000", 1).unwrap(), "vortex://lab/1;3:5000");
        assert_eq!(as_sender("tcp://127.0.0.1:7", 1).unwrap(), "tcp://127.0.0.1:7");
        assert!(as_sender("nowhere", 0).is_err());
    }
}
