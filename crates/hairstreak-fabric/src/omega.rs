//! The omega network without buffers: `log2(N)` stages of 2x2 crossbars, in which the loser of a conflict is dropped.
//!
//! ```text
//!   stage:  shuffle the lines (rotate the bits of their numbers to the left), then each crossbar sends a packet to the output that the
//!           next bit of the destination names
//! ```
//!
//! Source: Lawrie, "Access and alignment of data in an array processor", IEEE Transactions on Computers C-24(12), 1975. The acceptance
//! under uniform traffic is Patel's, IEEE Transactions on Computers C-30(10), 1981: see [`accepted`].

/// The largest number of ports.
pub const PORTS_MAX: u32 = 1 << 20;

/// A network that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} ports: a power of two from 2 to {PORTS_MAX} is needed")]
pub struct PortsError(pub u32);

/// An omega network.
///
/// ```
/// use hairstreak_fabric::omega::Omega;
///
/// let mut omega = Omega::new(8)?;
/// // Ports 0 and 4 meet in the first crossbar, and both want its upper output.
/// let arrived = omega.pass(&[(0, 1), (4, 2), (3, 7)], |_| 0);
/// assert_eq!(arrived, [(0, 1), (3, 7)]);
/// # Ok::<(), hairstreak_fabric::omega::PortsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Omega {
    bits: u32,
    /// The packet of each line, as a place among those that entered.
    lines: Vec<Option<usize>>,
}

impl Omega {
    /// A network of `ports` (a power of two).
    ///
    /// # Errors
    ///
    /// Another number, which the error names.
    pub fn new(ports: u32) -> Result<Omega, PortsError> {
        if !ports.is_power_of_two() || !(2..=PORTS_MAX).contains(&ports) {
            return Err(PortsError(ports));
        }
        Ok(Omega { bits: ports.trailing_zeros(), lines: vec![None; ports as usize] })
    }

    /// Packets from one port to another, at most one from each, cross the network in one slot. `choose` decides each conflict: 0 for the
    /// packet of the upper input, 1 for that of the lower one. Returns those that arrive.
    ///
    /// # Panics
    ///
    /// A port is none of the network's, or has two packets.
    pub fn pass(&mut self, packets: &[(u32, u32)], mut choose: impl FnMut(u32) -> u32) -> Vec<(u32, u32)> {
        self.lines.fill(None);
        for (place, (from, _)) in packets.iter().enumerate() {
            assert!(self.lines[*from as usize].replace(place).is_none(), "port {from} has two packets");
        }
        for stage in 0..self.bits {
            self.lines = self.cross(packets, self.bits - 1 - stage, &mut choose);
        }
        let mut arrived = self.lines.iter().flatten().map(|place| packets[*place]).collect::<Vec<_>>();
        arrived.sort_unstable();
        arrived
    }

    /// One stage, which decides the bit `bit` of the destinations.
    fn cross(
        &self,
        packets: &[(u32, u32)],
        bit: u32,
        choose: &mut impl FnMut(u32) -> u32,
    ) -> Vec<Option<usize>> {
        let mut after = vec![None; self.lines.len()];
        let half = self.lines.len() / 2;
        for crossbar in 0..half {
            // The perfect shuffle puts lines `crossbar` and `crossbar + half` side by side.
            for input in [crossbar, crossbar + half] {
                let Some(place) = self.lines[input] else { continue };
                let output = 2 * crossbar + (packets[place].1 >> bit & 1) as usize;
                let is_upper = input < half;
                if after[output].is_none() || !is_upper && choose(crossbar as u32) == 1 {
                    after[output] = Some(place);
                }
            }
        }
        after
    }
}

/// The packets that leave each port in a slot if `load` enter each, all of them independent and uniform: `p' = 1 - (1 - p / 2)^2` for each
/// stage.
pub fn accepted(ports: u32, load: f64) -> f64 {
    (0..ports.ilog2()).fold(load, |p, _| 1.0 - (1.0 - p / 2.0).powi(2))
}
