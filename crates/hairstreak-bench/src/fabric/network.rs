//! `NetworkKind`: a network of the study, and its figures under some traffic.

use std::fmt;

use hairstreak_fabric::Parallel;
use hairstreak_fabric::fat_tree::FatTree;
use hairstreak_fabric::measure::{Figures, Span, measure};
use hairstreak_fabric::omega::Omega;
use hairstreak_fabric::traffic::Traffic;
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};

/// Ports down of a switch in a tree: trees then have the sizes of the other networks.
const TREE_ARITY: u32 = 4;
/// Packets that an input of a tree has room for. See `FatTree::fdr`.
const TREE_BUFFER: usize = 64;
/// Angles of the switches that are compared with other networks.
const ANGLES: u32 = 4;

/// A network. Its text names the sizes, such as `vortex 64x4` for 64 heights and 4 angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NetworkKind {
    /// Data Vortices side by side: their shape, their permutation and their number.
    Vortices(Shape, Permutation, u32),
    /// An omega network of so many ports.
    Omega(u32),
    /// A tree of so many levels.
    Tree(u32),
}

impl NetworkKind {
    /// Data Vortices with `ports` ports and [`ANGLES`] angles. `None` if no Data Vortex has this size.
    pub fn vortices(ports: u32, count: u32) -> Option<NetworkKind> {
        Some(NetworkKind::Vortices(Shape::new(ports / ANGLES, ANGLES).ok()?, Permutation::Patent, count))
    }

    /// The three networks with `ports` ports, a power of four.
    pub fn all(ports: u32) -> impl Iterator<Item = NetworkKind> {
        let rivals = [NetworkKind::Omega(ports), NetworkKind::Tree(ports.ilog(TREE_ARITY))];
        NetworkKind::vortices(ports, 1).into_iter().chain(rivals)
    }

    /// Measures the network under traffic. Returns the figures, and the deflections of each packet in a Data Vortex: hops that did
    /// not lead inward although the bit was right. `None` if no network has these sizes.
    pub fn measure(self, traffic: &Traffic, span: Span, seed: u64) -> Option<(Figures, Option<f64>)> {
        let sources = traffic.sources(seed);
        match self {
            NetworkKind::Vortices(shape, permutation, count) => {
                let switches = (0..count).map(|_| Switch::new(shape, permutation)).collect();
                let mut vortices = Parallel::new(switches, shape.port_count());
                let figures = measure(&mut vortices, sources, span);
                let counts = || vortices.networks().iter().map(Switch::counts);
                let deflections: u64 = counts().map(|counts| counts.deflections).sum();
                let injected: u64 = counts().map(|counts| counts.injected).sum();
                Some((figures, Some(deflections as f64 / injected.max(1) as f64)))
            }
            NetworkKind::Omega(ports) => {
                Some((measure(&mut Omega::new(ports, seed).ok()?, sources, span), None))
            }
            NetworkKind::Tree(levels) => {
                let mut tree = FatTree::new(TREE_ARITY, levels, TREE_BUFFER).ok()?;
                Some((measure(&mut tree, sources, span), None))
            }
        }
    }
}

impl fmt::Display for NetworkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkKind::Vortices(shape, ..) => write!(f, "vortex {}x{}", shape.heights(), shape.angles()),
            NetworkKind::Omega(ports) => write!(f, "omega {ports}"),
            NetworkKind::Tree(levels) => write!(f, "tree {TREE_ARITY}^{levels}"),
        }
    }
}
