//! The omega network without buffers: `log2(N)` stages of 2x2 crossbars. Where two packets want the same output, one of them is dropped.
//!
//! ```text
//!   stage:  shuffle the lines (rotate the bits of their numbers to the left), then each crossbar sends a packet to the output
//!           that the next bit of the destination names
//! ```
//!
//! Source: Lawrie, "Access and alignment of data in an array processor", IEEE Transactions on Computers C-24(12), 1975. The acceptance
//! under uniform traffic is Patel's, IEEE Transactions on Computers C-30(10), 1981: see [`accepted`].

use fastrand::Rng;

use crate::network::Network;

/// The largest number of ports.
pub const PORTS_MAX: u32 = 1 << 20;

/// A number of ports that no omega network can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} ports: a power of two from 2 to {PORTS_MAX} is needed")]
pub struct PortsError(pub u32);

/// An omega network whose packets carry a `T`. A packet crosses the network in one slot, or is lost.
///
/// ```
/// use hairstreak_fabric::Network;
/// use hairstreak_fabric::omega::Omega;
///
/// let mut omega = Omega::new(8, 1)?;
/// // Ports 0 and 4 meet in the first crossbar, and both want its upper output.
/// for (from, to) in [(0, 1), (4, 2), (3, 7)] {
///     omega.inject(from, to, from).expect("a port without a packet in this slot");
/// }
/// let mut arrived = Vec::new();
/// omega.step(|to, from| arrived.push((from, to)));
/// assert!(arrived == [(0, 1), (3, 7)] || arrived == [(4, 2), (3, 7)]);
/// assert_eq!(omega.lost_count(), 1);
/// # Ok::<(), hairstreak_fabric::omega::PortsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Omega<T> {
    bits: u32,
    lines: Vec<Option<Packet<T>>>,
    after: Vec<Option<Packet<T>>>,
    packet_count: usize,
    lost_count: u64,
    rng: Rng,
}

#[derive(Clone, Debug)]
struct Packet<T> {
    to: u32,
    payload: T,
}

impl<T> Omega<T> {
    /// A network of `ports` (a power of two). `seed` decides conflicts.
    ///
    /// # Errors
    ///
    /// `ports` is no power of two, or too large.
    pub fn new(ports: u32, seed: u64) -> Result<Omega<T>, PortsError> {
        if !ports.is_power_of_two() || !(2..=PORTS_MAX).contains(&ports) {
            return Err(PortsError(ports));
        }
        let lines = || (0..ports).map(|_| None).collect();
        let rng = Rng::with_seed(seed);
        let bits = ports.trailing_zeros();
        Ok(Omega { bits, lines: lines(), after: lines(), packet_count: 0, lost_count: 0, rng })
    }

    /// Packets that have lost a conflict.
    pub fn lost_count(&self) -> u64 {
        self.lost_count
    }

    /// One stage, which decides the bit `bit` of the destinations.
    fn cross(&mut self, bit: u32) {
        let half = self.lines.len() / 2;
        for crossbar in 0..half {
            // The perfect shuffle puts lines `crossbar` and `crossbar + half` side by side.
            for input in [crossbar, crossbar + half] {
                let Some(packet) = self.lines[input].take() else { continue };
                let output = &mut self.after[2 * crossbar + (packet.to >> bit & 1) as usize];
                self.lost_count += u64::from(output.is_some());
                if output.is_none() || self.rng.bool() {
                    *output = Some(packet);
                }
            }
        }
        std::mem::swap(&mut self.lines, &mut self.after);
    }
}

impl<T> Network<T> for Omega<T> {
    fn port_count(&self) -> u32 {
        self.lines.len() as u32
    }

    fn inject(&mut self, from: u32, to: u32, payload: T) -> Result<(), T> {
        let line = &mut self.lines[from as usize];
        if line.is_some() {
            return Err(payload);
        }
        *line = Some(Packet { to, payload });
        self.packet_count += 1;
        Ok(())
    }

    fn step(&mut self, mut arrive: impl FnMut(u32, T)) {
        for stage in 0..self.bits {
            self.cross(self.bits - 1 - stage);
        }
        for packet in self.lines.iter_mut().filter_map(Option::take) {
            arrive(packet.to, packet.payload);
        }
        self.packet_count = 0;
    }

    fn packet_count(&self) -> usize {
        self.packet_count
    }

    fn may_lose(&self) -> bool {
        true
    }
}

/// The packets that leave each port in a slot if `load` packets enter at each port, independent and uniform: `p' = 1 - (1 - p / 2)^2` for
/// each stage.
pub fn accepted(ports: u32, load: f64) -> f64 {
    (0..ports.ilog2()).fold(load, |p, _| 1.0 - (1.0 - p / 2.0).powi(2))
}
