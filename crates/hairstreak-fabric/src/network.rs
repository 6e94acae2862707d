//! `Network`: the trait of all models of networks. The same code measures each of them.

use crate::vortex::Switch;

/// A network whose packets carry a `T` from port to port. Ports have numbers from 0 on.
pub trait Network<T> {
    /// Ports, each of which sends and receives.
    fn port_count(&self) -> u32;

    /// Packets that may enter at each port in a slot.
    fn lane_count(&self) -> u32 {
        1
    }

    /// A packet enters, at most [`Network::lane_count`] at each port in each slot.
    ///
    /// # Errors
    ///
    /// The network has no room at this port, and returns `payload`.
    fn inject(&mut self, from: u32, to: u32, payload: T) -> Result<(), T>;

    /// Passes a slot. Calls `arrive` with the port and the payload of each packet that leaves.
    fn step(&mut self, arrive: impl FnMut(u32, T));

    /// Packets inside.
    fn packet_count(&self) -> usize;

    /// Returns `true` if packets may be lost inside.
    fn may_lose(&self) -> bool {
        false
    }
}

impl<T> Network<T> for Switch<T> {
    fn port_count(&self) -> u32 {
        self.shape().port_count()
    }

    fn inject(&mut self, from: u32, to: u32, payload: T) -> Result<(), T> {
        let shape = self.shape();
        Switch::inject(self, shape.port(from), shape.port(to), payload)
    }

    fn step(&mut self, mut arrive: impl FnMut(u32, T)) {
        let shape = self.shape();
        Switch::step(self, |arrival| arrive(shape.index_of(arrival.port), arrival.payload));
    }

    fn packet_count(&self) -> usize {
        Switch::packet_count(self)
    }
}
