//! `Fabric`: a Data Vortex or a fat tree that carries the messages of a pipeline, and its slot times.
//!
//! `hairstreak-fabric` simulates the networks and has the times of the Data Vortex (`hairstreak_fabric::parameters`). The figures
//! here are our choices, each with its reason. A topology file may set others.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hairstreak_fabric::parameters::{NETWORK_COUNT, SLOT_PICOSECONDS};
use hairstreak_fabric::vortex::{Shape, ShapeError};
use thiserror::Error;

/// Bytes of a message in a cell of the Data Vortex: its payload is a word.
const CELL_BYTES: u64 = 8;
/// The slot of the Data Vortex: the slot of the fabric that programs attach to.
const CELL_SLOT: Duration = Duration::from_nanos(SLOT_PICOSECONDS / 1_000);
/// Bytes of a message in a packet of the fat tree: the smallest unit of InfiniBand.
const PACKET_BYTES: u64 = 256;
/// The slot of the fat tree: 256 bytes and 26 bytes of headers at 54.5 Gbit/s, the rate of four lanes of FDR.
const PACKET_SLOT: Duration = Duration::from_nanos(41);
/// Hosts of the largest fat tree: four levels of switches with 18 ports down.
pub const PORTS_MAX: u32 = 104_976;
/// The CPU time to send or to receive a message, in both fabrics: the processor writes a descriptor or reads a completion.
const OVERHEAD: Duration = Duration::from_nanos(200);

/// The kind and the size of a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricKind {
    /// Data Vortices of this shape, [`NETWORK_COUNT`] side by side.
    Vortex(Shape),
    /// A fat tree of FDR InfiniBand.
    FatTree {
        /// The number of hosts.
        ports: u32,
    },
}

/// A fabric and its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fabric {
    kind: FabricKind,
    slot: Duration,
    overhead: Duration,
}

/// The error of an impossible fabric.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FabricError {
    /// The Data Vortex has no such shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The tree has too few hosts, or too many.
    #[error("{0} ports: 1 to {PORTS_MAX} are needed")]
    Ports(u32),
    /// A text that is the name of no fabric.
    #[error("\"{0}\" is no network; there are \"vortex HEIGHTSxANGLES\" and \"fat-tree PORTS\"")]
    Unknown(String),
    /// A slot that takes no time, or more than a second.
    #[error("a slot takes 1 ns to 1 s")]
    Slot,
    /// An overhead of more than a second.
    #[error("the overhead of a message is at most 1 s")]
    Overhead,
}

impl Fabric {
    /// Data Vortices side by side, each with `heights * angles` ports. `heights` is a power of two.
    ///
    /// ```
    /// use hairstreak_model::Fabric;
    ///
    /// assert_eq!(Fabric::vortex(256, 4)?.port_count(), 1_024);
    /// assert!(Fabric::vortex(12, 4).is_err());
    /// # Ok::<(), hairstreak_model::FabricError>(())
    /// ```
    pub fn vortex(heights: u32, angles: u32) -> Result<Fabric, FabricError> {
        let kind = FabricKind::Vortex(Shape::new(heights, angles)?);
        Ok(Fabric { kind, slot: CELL_SLOT, overhead: OVERHEAD })
    }

    /// A fat tree with `ports` hosts.
    pub fn fat_tree(ports: u32) -> Result<Fabric, FabricError> {
        if !(1..=PORTS_MAX).contains(&ports) {
            return Err(FabricError::Ports(ports));
        }
        Ok(Fabric { kind: FabricKind::FatTree { ports }, slot: PACKET_SLOT, overhead: OVERHEAD })
    }

    /// Sets the length of a slot.
    pub fn with_slot(mut self, slot: Duration) -> Result<Fabric, FabricError> {
        if slot.is_zero() || slot > Duration::from_secs(1) {
            return Err(FabricError::Slot);
        }
        self.slot = slot;
        Ok(self)
    }

    /// Sets the CPU time of a message at each end.
    pub fn with_overhead(mut self, overhead: Duration) -> Result<Fabric, FabricError> {
        if overhead > Duration::from_secs(1) {
            return Err(FabricError::Overhead);
        }
        self.overhead = overhead;
        Ok(self)
    }

    /// The kind and the size.
    pub fn kind(&self) -> FabricKind {
        self.kind
    }

    /// The number of ports.
    pub fn port_count(&self) -> u32 {
        match self.kind {
            FabricKind::Vortex(shape) => shape.port_count(),
            FabricKind::FatTree { ports } => ports,
        }
    }

    /// The length of a slot.
    pub fn slot(&self) -> Duration {
        self.slot
    }

    /// The CPU time of a message at each end.
    pub fn overhead(&self) -> Duration {
        self.overhead
    }

    /// The number of packets that a port may send in a slot.
    pub(crate) fn lane_count(&self) -> u32 {
        match self.kind {
            FabricKind::Vortex(_) => NETWORK_COUNT,
            FabricKind::FatTree { .. } => 1,
        }
    }

    /// The number of packets of a message of `size` bytes. In a Data Vortex a header packet comes first.
    pub(crate) fn packets_of(&self, size: u64) -> u64 {
        match self.kind {
            FabricKind::Vortex(_) => 1 + size.div_ceil(CELL_BYTES),
            FabricKind::FatTree { .. } => size.div_ceil(PACKET_BYTES).max(1),
        }
    }
}

/// Parses heights and angles, as in `vortex 256x4`, or ports, as in `fat-tree 1024`.
impl FromStr for Fabric {
    type Err = FabricError;

    fn from_str(text: &str) -> Result<Fabric, FabricError> {
        let unknown = || FabricError::Unknown(text.escape_debug().to_string());
        let number = |text: &str| text.parse::<u32>().map_err(|_| unknown());
        match text.split_once(' ') {
            Some(("vortex", shape)) => {
                let (heights, angles) = shape.split_once('x').ok_or_else(unknown)?;
                Fabric::vortex(number(heights)?, number(angles)?)
            }
            Some(("fat-tree", ports)) => Fabric::fat_tree(number(ports)?),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FabricKind::Vortex(shape) => write!(f, "vortex {}x{}", shape.heights(), shape.angles()),
            FabricKind::FatTree { ports } => write!(f, "fat-tree {ports}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_survives_its_text_and_nothing_else_is_one() {
        for text in ["vortex 256x4", "fat-tree 1024"] {
            assert_eq!(text.parse::<Fabric>().unwrap().to_string(), text);
        }
        for text in ["", "vortex", "vortex 256", "vortex 256x", "torus 4", "fat-tree -1"] {
            let refusal = text.parse::<Fabric>().unwrap_err().to_string();
            assert!(refusal.starts_with(&format!("\"{text}\" is no network")), "{refusal}");
        }
        assert_eq!("vortex 12x4".parse::<Fabric>(), Fabric::vortex(12, 4));
    }

    #[test]
    fn fabrics_that_cannot_be_are_refused() {
        let refusal = |refused: Result<Fabric, FabricError>| refused.unwrap_err().to_string();
        assert_eq!(refusal(Fabric::vortex(3, 4)), "3 heights: a power of two from 2 to 65536 is needed");
        assert_eq!(refusal(Fabric::vortex(4, 0)), "0 angles: 1 to 4096 are needed");
        assert_eq!(refusal(Fabric::fat_tree(0)), "0 ports: 1 to 104976 are needed");
        let fabric = Fabric::fat_tree(1_024).unwrap();
        assert_eq!(fabric.port_count(), 1_024);
        assert_eq!(refusal(fabric.with_slot(Duration::ZERO)), "a slot takes 1 ns to 1 s");
        assert_eq!(fabric.with_overhead(Duration::from_secs(2)), Err(FabricError::Overhead));
    }

    #[test]
    fn a_message_is_as_many_packets_as_it_fills() {
        let (vortex, tree) = (Fabric::vortex(4, 2).unwrap(), Fabric::fat_tree(16).unwrap());
        let packets = |size| (vortex.packets_of(size), tree.packets_of(size));
        assert_eq!([packets(0), packets(8), packets(9), packets(257)], [(1, 1), (2, 1), (3, 1), (34, 2)]);
    }
}
