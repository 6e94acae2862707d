//! `MeanField`: a switch under uniform traffic, as if deflections were independent of each other.
//!
//! With `l` packets accepted by each port in a slot, and `f_c` the probability that a packet comes along the ring to a node of cylinder `c`:
//!
//! ```text
//!   f_{C-1} = l (A - 1) / 2
//!   f_c     = l (2 / (1 - f_{c+1}) - 3/2)
//!   hops    = sum over c < C-1 of (2 / (1 - f_{c+1}) - 1/2)  +  1  +  (A - 1) / 2
//! ```
//!
//! A saturated port has a packet in each slot. The packet enters unless the ring of cylinder 0 brings another one: `l = 1 - f_0`. For `A <= 4` and
//! growing `H`, `l` approaches two ninths, the limit of Iliadis, Chrysos and Minkenberg (IEEE JSAC 25(6), 2007). A real switch carries
//! less, because its deflections depend on each other.

use super::shape::Shape;

/// The limit for many heights: packets that each port accepts in a slot, with up to four angles, if all ports always send.
pub const LIMIT: f64 = 2.0 / 9.0;
const BISECTIONS: u32 = 60;

/// A switch under uniform traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanField {
    /// Packets that each port accepts in a slot.
    pub accepted: f64,
    /// Slots from entering to leaving, on average.
    pub hops: f64,
}

impl MeanField {
    /// All ports always have a packet.
    ///
    /// ```
    /// use hairstreak_fabric::vortex::{MeanField, Shape};
    ///
    /// let accepted = MeanField::saturated(Shape::new(16, 1)?).accepted;
    /// assert!((accepted - 0.3282).abs() < 0.0001);
    /// # Ok::<(), hairstreak_fabric::vortex::ShapeError>(())
    /// ```
    pub fn saturated(shape: Shape) -> MeanField {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            let fits = arrivals(shape, middle).is_some_and(|arrivals| middle + arrivals[0] <= 1.0);
            if fits { low = middle } else { high = middle }
        }
        MeanField { accepted: low, hops: hops(shape, low).unwrap_or(f64::INFINITY) }
    }

    /// Each port accepts `accepted` packets in a slot. `None`: more than the switch can carry.
    pub fn at(shape: Shape, accepted: f64) -> Option<MeanField> {
        let outermost = arrivals(shape, accepted)?[0];
        if accepted + outermost > 1.0 {
            return None;
        }
        Some(MeanField { accepted, hops: hops(shape, accepted)? })
    }
}

/// The probabilities `f_c`, the outermost cylinder first; `None` if a ring would have more than a packet for each node.
fn arrivals(shape: Shape, accepted: f64) -> Option<Vec<f64>> {
    let mut inner = accepted * f64::from(shape.angles() - 1) / 2.0;
    let mut found = vec![inner];
    for _ in 0..shape.height_bits() {
        if inner >= 1.0 {
            return None;
        }
        inner = accepted * (2.0 / (1.0 - inner) - 1.5);
        found.push(inner);
    }
    found.reverse();
    Some(found)
}

fn hops(shape: Shape, accepted: f64) -> Option<f64> {
    let arrivals = arrivals(shape, accepted)?;
    let inward: f64 = arrivals[1..].iter().map(|inner| 2.0 / (1.0 - inner) - 0.5).sum();
    Some(inward + 1.0 + f64::from(shape.angles() - 1) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_heights_accept_what_the_equations_say() {
        let expected =
            [(1, 0.3282), (2, 0.2994), (3, 0.2719), (4, 0.2466), (5, 0.2241), (6, 0.2045), (8, 0.1726)];
        for (angles, expected) in expected {
            let found = MeanField::saturated(Shape::new(16, angles).unwrap()).accepted;
            assert!((found - expected).abs() < 0.0001, "{angles} angles: {found}");
        }
    }

    #[test]
    fn heights_without_end_come_to_the_limit() {
        for angles in 1..=4 {
            let found = MeanField::saturated(Shape::new(1 << 16, angles).unwrap()).accepted;
            assert!(found > LIMIT && found < 1.1 * LIMIT, "{angles} angles: {found}");
        }
    }

    #[test]
    fn a_packet_alone_takes_the_fewest_hops() {
        // Four cylinders inward, half of the bits wrong at first, half a ring to the angle, and out.
        let hops = MeanField::at(Shape::new(16, 5).unwrap(), 0.0).unwrap().hops;
        assert!((hops - (4.0 + 2.0 + 2.0 + 1.0)).abs() < 1e-9, "{hops}");
        assert_eq!(MeanField::at(Shape::new(16, 5).unwrap(), 0.3), None);
    }
}
