//! `Fabric`: a Data Vortex or a fat tree that carries the messages of a pipeline, with the times of its slots.
//!
//! The networks themselves are `hairstreak-fabric`'s, and so are the times of the Data Vortex (`hairstreak_fabric::parameters`). The figures here are
//! choices of ours, each with its reason; a topology may say others.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hairstreak_fabric::parameters::{NETWORK_COUNT, SLOT_PICOSECONDS};
use hairstreak_fabric::vortex::{Shape, ShapeError};
use thiserror::Error;

/// Bytes of a message that a cell of the Data Vortex carries: its payload is a word.
const CELL_BYTES: u64 = 8;
/// The slot of the Data Vortex, the same as that of the fabric that programs attach to.
const CELL_SLOT: Duration = Duration::from_nanos(SLOT_PICOSECONDS / 1_000);
/// Bytes of a message that a packet of the fat tree carries: the smallest unit of InfiniBand.
const PACKET_BYTES: u64 = 256;
/// The slot of the fat tree: 256 bytes and 26 of headers at 54.5 Gbit/s, which are the four lanes of FDR.
const PACKET_SLOT: Duration = Duration::from_nanos(41);
/// Hosts of the largest fat tree: four levels of switches with 18 ports down.
pub const PORTS_MAX: u32 = 104_976;
/// The work of a processor that sends or receives a message, in either fabric: it writes a descriptor or reads a completion.
const OVERHEAD: Duration = Duration::from_nanos(200);

/// Which fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricKind {
    /// Data Vortices of that shape, [`NETWORK_COUNT`] side by side.
    Vortex(Shape),
    /// A fat tree of FDR InfiniBand for so many hosts.
    FatTree {
        /// Hosts.
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

/// A fabric that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FabricError {
    /// The Data Vortex has no such shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The tree has too few hosts, or too many.
    #[error("{0} ports: 1 to {PORTS_MAX} are needed")]
    Ports(u32),
    /// A text that names no fabric.
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
    /// Data Vortices side by side, of so many heights (a power of two) and angles: `heights * angles` ports.
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

    /// A fat tree for so many hosts.
    pub fn fat_tree(ports: u32) -> Result<Fabric, FabricError> {
        if !(1..=PORTS_MAX).contains(&ports) {
            return Err(FabricError::Ports(ports));
        }
        Ok(Fabric { kind: FabricKind::FatTree { ports }, slot: PACKET_SLOT, overhead: OVERHEAD })
    }

    /// The same with another length of a slot.
    pub fn with_slot(mut self, slot: Duration) -> Result<Fabric, FabricError> {
        if slot.is_zero() || slot > Duration::from_secs(1) {
            return Err(FabricError::Slot);
        }
        self.slot = slot;
        Ok(self)
    }

    /// The same with another time on a core, for each message and each end.
    pub fn with_overhead(mut self, overhead: Duration) -> Result<Fabric, FabricError> {
        if overhead > Duration::from_secs(1) {
            return Err(FabricError::Overhead);
        }
        self.overhead = overhead;
        Ok(self)
    }

    /// Which fabric it is.
    pub fn kind(&self) -> FabricKind {
        self.kind
    }

    /// Ports that a pipeline may use.
    pub fn port_count(&self) -> u32 {
        match self.kind {
            FabricKind::Vortex(shape) => shape.port_count(),
            FabricKind::FatTree { ports } => ports,
        }
    }

    /// How long a slot takes.
    pub fn slot(&self) -> Duration {
        self.slot
    }

    /// The time of a processor for a message, at each end.
    pub fn overhead(&self) -> Duration {
        self.overhead
    }

    /// Packets that a port may send in a slot.
    pub(crate) fn lane_count(&self) -> u32 {
        match self.kind {
            FabricKind::Vortex(_) => NETWORK_COUNT,
            FabricKind::FatTree { .. } => 1,
        }
    }

    /// Packets of a message of that size: in a Data Vortex a header comes first.
    pub(crate) fn packets_of(&self, size: u64) -> u64 {
        match self.kind {
            FabricKind::Vortex(_) => 1 + size.div_ceil(CELL_BYTES),
            FabricKind::FatTree { .. } => size.div_ceil(PACKET_BYTES).max(1),
        }
    }
}

/// As in `vortex 256x4`, heights and angles, or `fat-tree 1024`, ports.
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
