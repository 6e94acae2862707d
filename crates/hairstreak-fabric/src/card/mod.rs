//! The interface card: a memory, counters and a FIFO. Words of other cards reach all three. A card has no thread and no clock.
//!
//! - [`Vic`]: a program's operations on a card; a real card's driver would implement it
//! - [`SimulatedCards`]: cards on a simulated network, cell by cell; [`SharedCards`]: cards in shared memory, without a network
//! - [`Cell`]: a word on its way
//!
//! Names and concepts follow the published descriptions of the machine (Gioiosa et al., "Exploring DataVortex Systems for Irregular
//! Applications", IPDPS 2017); the calls are ours. All sizes are choices of ours: see [`CardLimits`].

mod barrier;
#[expect(clippy::module_inception, reason = "one card of the folder of cards")]
mod card;
mod cell;
mod limits;
mod shared_cards;
mod simulated_cards;
mod vic;

pub use cell::{Cell, CellKind, Counter};
pub use limits::{CardLimits, LimitsError, RANKS_MAX};
pub use shared_cards::{SharedCard, SharedCards};
pub use simulated_cards::{CellCounts, SimulatedCard, SimulatedCards};
pub use vic::{PutWord, Query, Vic};
