//! The Data Vortex: a switch without buffers. A packet that cannot go on takes another way.
//!
//! ```text
//!   (cylinder, angle, height)     all packets move one angle in each slot
//!
//!   inward:       (c, a, h) -> (c + 1, a + 1, h)        bit c of the height is right, and the inner node is free
//!   in-cylinder:  (c, a, h) -> (c, a + 1, G_c(h))       otherwise; G_c changes bit c and keeps the bits before
//!   innermost:    the packet circles until its angle is there, and leaves
//! ```
//!
//! `H` heights (a power of two) and `A` angles make `A * H` ports and `C = log2(H) + 1` cylinders. Packets enter at cylinder 0 and leave at
//! cylinder `C - 1`. A packet on a ring has priority over a packet from outside. A source waits while its node is taken. So the switch
//! drops no packet. Packets of one source may overtake each other.
//!
//! - `shape`, `permutation`: the size of a switch, and `G_c`
//! - `switch`: the packets, slot by slot
//! - `mean_field`: the equations for uniform traffic

mod mean_field;
mod permutation;
mod shape;
mod switch;

pub use mean_field::{LIMIT, MeanField};
pub use permutation::Permutation;
pub use shape::{ANGLES_MAX, HEIGHTS_MAX, Port, Shape, ShapeError};
pub use switch::{Arrival, Counts, Switch};
