//! `Network`: the network that carries the messages of a pipeline.

use super::fabric::Fabric;
use super::links::Links;

/// The network between the instances.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Network {
    /// No cost but the pipeline's hop, as the equations assume.
    #[default]
    Ideal,
    /// Links with measured costs, such as tcp on this machine.
    Links(Links),
    /// A fabric, simulated slot by slot.
    Fabric(Fabric),
}
