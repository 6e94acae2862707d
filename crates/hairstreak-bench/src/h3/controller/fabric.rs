//! The simulated Data Vortex of a benchmark: a thread of the controller owns the switch, all agents attach to it.

use std::io;
use std::thread::{self, JoinHandle};

use hairstreak_transport::Endpoint;
use hairstreak_transport::vortex::{Fabric, FabricFacts, FabricOptions, FabricStopper};

use super::error::H3Error;
use super::host::Side;

/// A fabric of the default size that runs. Dropping it ends it.
#[derive(Debug)]
pub struct OwnFabric {
    name: String,
    /// Its shape and the length of its slots.
    pub facts: FabricFacts,
    stopper: FabricStopper,
    thread: Option<JoinHandle<()>>,
}

impl OwnFabric {
    /// Starts a fabric that nobody else on this host has.
    pub fn start() -> Result<OwnFabric, H3Error> {
        let name = format!("hairstreak-h3-{}", std::process::id());
        let mut fabric = Fabric::bind(&FabricOptions::new(&name)).map_err(H3Error::Fabric)?;
        let (facts, stopper) = (fabric.facts(), fabric.stopper());
        let run = move || {
            if let Err(error) = fabric.run() {
                eprintln!("hairstreak-bench: the fabric: {error}");
            }
        };
        let thread = thread::Builder::new().name("fabric".into()).spawn(run);
        let thread = thread.map_err(|error| H3Error::Agent { agent: "the fabric".to_owned(), error })?;
        Ok(OwnFabric { name, facts, stopper, thread: Some(thread) })
    }

    /// Where an agent of that side and node listens: each has a rank of its own.
    pub fn place(&self, side: Side, node: usize) -> String {
        format!("vortex://{}/{}:*", self.name, rank(side, node))
    }
}

impl Drop for OwnFabric {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by itself.
            let _ = thread.join();
        }
    }
}

/// Senders have the first ranks, receivers the next.
fn rank(side: Side, node: usize) -> u32 {
    let first = match side {
        Side::Sender => 0,
        Side::Receiver => 2,
    };
    first + node as u32
}

/// `endpoint` as the sender of `node` connects to it: on a fabric, from the sender's own card.
///
/// Errors: the text is no endpoint.
pub fn as_sender(endpoint: &str, node: usize) -> io::Result<String> {
    let endpoint = endpoint.parse::<Endpoint>().map_err(io::Error::other)?;
    Ok(match endpoint {
        Endpoint::Vortex(mut address) => {
            address.from = Some(rank(Side::Sender, node));
            Endpoint::Vortex(address).to_string()
        }
        other => other.to_string(),
    })
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
