//! The sizes and times of the fabric that programs attach to. All are choices of ours, made once, before anything was measured with them.
//!
//! The machine that the paper used is described in few public places. A figure marked *recalled* comes from memory of such a place, and is no
//! citation. The sizes of a card are [`CardLimits::default`](crate::card::CardLimits).

/// Switches side by side. The vendor's pages tell of 16 independent networks for each card.
pub const NETWORK_COUNT: u32 = 16;

/// The length of a slot, in picoseconds: a cell moves by a node, and a card sends at most a cell into each network.
///
/// With 16 networks and 8 bytes of payload a cell, a port sends at most 4.27 GB/s, near the 4.4 GB/s that are recalled as the card's nominal
/// rate. The optical prototype of 12 ports needed 110 ns for five nodes (Liboiron-Ladouceur et al., Journal of Lightwave Technology 26(13),
/// 2008), 22 ns a node, which is of the same order.
pub const SLOT_PICOSECONDS: u64 = 30_000;

/// Heights of the default fabric. With [`ANGLE_COUNT`] angles 32 ports, as many as the recalled cluster had nodes.
pub const HEIGHT_COUNT: u32 = 8;

/// Angles of the default fabric. The fewer angles there are for the same number of ports, the higher the rate at which
/// the switch saturates. Four angles still show the rotation of cells.
pub const ANGLE_COUNT: u32 = 4;
