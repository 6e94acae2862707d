//! Links that carry whole messages, for machines above the framing.

use super::{Network, NetworkEvent, Payload};
use crate::simulator::Simulator;

/// One message, which arrives whole or not at all and takes one place of a direction's capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<M>(pub M);

/// The direction has no room for another message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl<M> Payload for Packet<M> {
    fn size(&self) -> usize {
        1
    }

    fn prefix(self, size: usize) -> Option<Self> {
        (size > 0).then_some(self)
    }
}

impl<N: Copy + PartialEq, L, M> Network<N, L, Packet<M>> {
    /// Sends one message. A link that is cut or silent takes the message and loses it.
    ///
    /// # Errors
    ///
    /// The direction is full.
    pub fn send<E: From<NetworkEvent>>(
        &mut self,
        sim: &mut Simulator<E>,
        link: usize,
        end: usize,
        message: M,
    ) -> Result<(), Full> {
        let direction = &self.links[link].directions[end];
        if direction.is_silent() {
            return Ok(());
        }
        if direction.room() == 0 {
            return Err(Full);
        }
        self.post(sim, link, end, Packet(message));
        Ok(())
    }

    /// Takes the next message that has arrived at this end.
    pub fn receive<E>(&mut self, sim: &Simulator<E>, link: usize, end: usize) -> Option<M> {
        self.take(sim, link, end).map(|Packet(message)| message)
    }
}
