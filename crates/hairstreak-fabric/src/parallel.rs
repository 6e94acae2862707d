//! `Parallel`: several networks side by side. Each port is connected to all of them. A packet takes the next network that has room.

use crate::network::Network;

/// Several networks with the same ports.
#[derive(Clone, Debug)]
pub struct Parallel<N> {
    networks: Vec<N>,
    /// The network that each port tries first.
    next: Vec<u32>,
}

impl<N> Parallel<N> {
    /// Networks of `port_count` ports each.
    ///
    /// ```
    /// use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
    /// use hairstreak_fabric::{Network, Parallel};
    ///
    /// let shape = Shape::new(16, 4)?;
    /// let switches = (0..16).map(|_| Switch::new(shape, Permutation::Patent)).collect();
    /// let mut fabric = Parallel::new(switches, shape.port_count());
    /// for number in 0..16 {
    ///     fabric.inject(0, 9, number).unwrap();
    /// }
    /// assert_eq!(fabric.inject(0, 9, 16), Err(16));
    /// # Ok::<(), hairstreak_fabric::vortex::ShapeError>(())
    /// ```
    pub fn new(networks: Vec<N>, port_count: u32) -> Parallel<N> {
        Parallel { networks, next: vec![0; port_count as usize] }
    }

    /// The networks.
    pub fn networks(&self) -> &[N] {
        &self.networks
    }
}

impl<T, N: Network<T>> Network<T> for Parallel<N> {
    fn port_count(&self) -> u32 {
        self.next.len() as u32
    }

    fn lane_count(&self) -> u32 {
        self.networks.iter().map(Network::lane_count).sum()
    }

    fn inject(&mut self, from: u32, to: u32, mut payload: T) -> Result<(), T> {
        let count = self.networks.len() as u32;
        for _ in 0..count {
            let next = &mut self.next[from as usize];
            let chosen = *next as usize;
            *next = (*next + 1) % count;
            match self.networks[chosen].inject(from, to, payload) {
                Ok(()) => return Ok(()),
                Err(back) => payload = back,
            }
        }
        Err(payload)
    }

    fn step(&mut self, mut arrive: impl FnMut(u32, T)) {
        self.networks.iter_mut().for_each(|network| network.step(&mut arrive));
    }

    fn packet_count(&self) -> usize {
        self.networks.iter().map(Network::packet_count).sum()
    }

    fn may_lose(&self) -> bool {
        self.networks.iter().any(Network::may_lose)
    }
}
