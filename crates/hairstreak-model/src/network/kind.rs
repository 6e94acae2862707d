//! `Network`: what the messages of a pipeline travel on.

use super::fabric::Fabric;
use super::links::Links;

/// How messages get from one instance to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Network {
    /// Without any cost but the pipeline's hop: what the equations assume.
    #[default]
    Ideal,
    /// Links whose costs were measured, such as tcp on this machine.
    Links(Links),
    /// A fabric that is simulated slot by slot.
    Fabric(Fabric),
}
