//! `FabricOptions`: the size and the name of a fabric; `FabricError`: why there is none.

use std::io;

use hairstreak_fabric::card::LimitsError;
use hairstreak_fabric::parameters::{ANGLE_COUNT, HEIGHT_COUNT, NETWORK_COUNT};
use hairstreak_fabric::vortex::ShapeError;
use thiserror::Error;

use crate::shm::SegmentError;

/// The most switches side by side.
pub(super) const NETWORKS_MAX: u32 = 64;

/// The size and the name of a fabric. The cards have [`CardLimits::default`](hairstreak_fabric::card::CardLimits).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricOptions {
    /// The name by which processes of this host find the fabric.
    pub name: String,
    /// Heights of each switch, a power of two.
    pub heights: u32,
    /// Angles of each switch. There are as many ranks as heights times angles.
    pub angles: u32,
    /// Switches side by side.
    pub networks: u32,
}

impl FabricOptions {
    /// A fabric of the default size.
    pub fn new(name: &str) -> FabricOptions {
        let (heights, angles, networks) = (HEIGHT_COUNT, ANGLE_COUNT, NETWORK_COUNT);
        FabricOptions { name: name.to_owned(), heights, angles, networks }
    }
}

/// The reason for which a fabric cannot be started.
#[derive(Debug, Error)]
pub enum FabricError {
    /// No endpoint can have that name.
    #[error("\"{0}\" is no name for a fabric: 1 to 64 letters, digits, -, _ and . are")]
    Name(String),
    /// No switch has that shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// There is another number of switches.
    #[error("{0} networks: 1 to {NETWORKS_MAX} are possible")]
    Networks(u32),
    /// There are no cards for this number of ports.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// Another process serves a fabric of the name.
    #[error("fabric \"{0}\" runs already on this host")]
    InUse(String),
    /// There is no memory to show the time in.
    #[error(transparent)]
    Memory(#[from] SegmentError),
    /// The system has no socket or descriptor to give.
    #[error("fabric \"{0}\": {1}")]
    System(String, io::Error),
}
