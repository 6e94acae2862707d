//! Models of interconnection networks, slot by slot: no socket, thread or clock.
//!
//! - [`vortex`]: the Data Vortex switch (Reed, US patents 5,996,020 and 6,272,141; Yang, Bergman, Hughes and Johnson, Journal of Lightwave
//!   Technology 19(10), 2001)
//! - [`card`]: the interface card of a port, on a simulated network or in shared memory
//! - [`omega`], [`fat_tree`]: rivals: the omega network without buffers, the k-ary n-tree with credits
//! - [`parameters`]: the sizes and times of the fabric that programs attach to
//! - [`Parallel`]: several networks side by side
//! - [`stream`]: ordered streams of bytes between cards
//! - [`traffic`], [`trace`], [`mod@measure`]: the packets that the ports send, and the figures of a network under them

pub mod card;
pub mod fat_tree;
pub mod measure;
pub mod omega;
pub mod parameters;
pub mod stream;
pub mod trace;
pub mod traffic;
pub mod vortex;

mod network;
mod parallel;

pub use network::Network;
pub use parallel::Parallel;
