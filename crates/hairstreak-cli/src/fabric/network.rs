//! `NetworkKind`: a network of the study. Measures its figures under a given traffic.

use std::fmt;

use hairstreak_fabric::fat_tree::FatTree;
use hairstreak_fabric::measure::{Cargo, Figures, Span, measure};
use hairstreak_fabric::omega::Omega;
use hairstreak_fabric::traffic::Traffic;
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
use hairstreak_fabric::{Network, Parallel};
use serde::Serialize;

/// Ports down of a switch in a tree: trees then have the sizes of the other networks.
const TREE_ARITY: u32 = 4;
/// Packets that an input of a tree has room for. See `FatTree::fdr`.
const TREE_BUFFER: usize = 64;
/// Angles of the switches that are compared with other networks.
pub const ANGLES: u32 = 4;

/// A network. Its text names the sizes, such as `vortex 64x4` for 64 heights and 4 angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NetworkKind {
    Vortex {
        shape: Shape,
        permutation: Permutation,
    },
    /// Several Data Vortices side by side.
    Vortices {
        shape: Shape,
        count: u32,
    },
    Omega {
        ports: u32,
    },
    Tree {
        levels: u32,
    },
}

/// The figures of a network under some traffic.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub figures: Figures,
    /// Deflections of each packet: hops that did not lead inward although the bit was right. Data Vortices only.
    pub deflections: Option<f64>,
}

impl NetworkKind {
    /// A Data Vortex with `ports` ports and [`ANGLES`] angles; `None` if no Data Vortex has this size.
    pub fn vortex(ports: u32) -> Option<NetworkKind> {
        let shape = Shape::new(ports / ANGLES, ANGLES).ok()?;
        Some(NetworkKind::Vortex { shape, permutation: Permutation::Patent })
    }

    /// A tree with `ports` ports, a power of four.
    pub fn tree(ports: u32) -> NetworkKind {
        NetworkKind::Tree { levels: ports.ilog(TREE_ARITY) }
    }

    /// The three networks with `ports` ports.
    pub fn all(ports: u32) -> Vec<NetworkKind> {
        let vortex = NetworkKind::vortex(ports).into_iter();
        vortex.chain([NetworkKind::Omega { ports }, NetworkKind::tree(ports)]).collect()
    }

    pub fn port_count(self) -> u32 {
        match self {
            NetworkKind::Vortex { shape, .. } | NetworkKind::Vortices { shape, .. } => shape.port_count(),
            NetworkKind::Omega { ports } => ports,
            NetworkKind::Tree { levels } => TREE_ARITY.pow(levels),
        }
    }

    /// Measures the network under traffic. `None` if no network has these sizes.
    pub fn measure(self, traffic: &Traffic, span: Span, seed: u64) -> Option<Outcome> {
        let alone = |figures| Some(Outcome { figures, deflections: None });
        match self {
            NetworkKind::Vortex { shape, permutation } => {
                let mut switch = Switch::new(shape, permutation);
                let figures = run(&mut switch, traffic, span, seed);
                let counts = switch.counts();
                let deflections = counts.deflections as f64 / counts.injected.max(1) as f64;
                Some(Outcome { figures, deflections: Some(deflections) })
            }
            NetworkKind::Vortices { shape, count } => {
                let switches = (0..count).map(|_| Switch::new(shape, Permutation::Patent)).collect();
                alone(run(&mut Parallel::new(switches, shape.port_count()), traffic, span, seed))
            }
            NetworkKind::Omega { ports } => {
                alone(run(&mut Omega::new(ports, seed).ok()?, traffic, span, seed))
            }
            NetworkKind::Tree { levels } => {
                alone(run(&mut FatTree::new(TREE_ARITY, levels, TREE_BUFFER).ok()?, traffic, span, seed))
            }
        }
    }
}

fn run(network: &mut impl Network<Cargo>, traffic: &Traffic, span: Span, seed: u64) -> Figures {
    measure(network, traffic.sources(seed), span)
}

impl fmt::Display for NetworkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkKind::Vortex { shape, .. } => write!(f, "vortex {}x{}", shape.heights(), shape.angles()),
            NetworkKind::Vortices { shape, count } => {
                write!(f, "{count} vortices {}x{}", shape.heights(), shape.angles())
            }
            NetworkKind::Omega { ports } => write!(f, "omega {ports}"),
            NetworkKind::Tree { levels } => write!(f, "tree {TREE_ARITY}^{levels}"),
        }
    }
}

impl Serialize for NetworkKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
