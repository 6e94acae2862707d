//! `vortex://FABRIC/RANK:PORT`: byte streams through a simulated Data Vortex, between the processes of one host.
//!
//! One process, the [`Fabric`], owns the switch, the interface cards and the streams between them. All others attach to it by a unix socket:
//!
//! ```text
//!   process of rank 2            fabric                                        process of rank 3
//!                                                                 <-- hello (listen) --  Listener
//!   Stream  -- hello (connect) -->  card 2 ---- switch ----> card 3  -- descriptor -->   Listener
//!   Stream  <== rings (shm) ====>  a stream of cells, both ways  <==== rings (shm) ===>  Stream
//! ```
//!
//! The bytes between a process and its card go through shared memory, as with `shm://`. The unix socket is the
//! doorbell, and its end tells of a death. Every byte between two cards goes through the switch, in 64-bit cells. A
//! slow process fills its ring; then the fabric stops reading its stream, and the card grants the sender no more
//! memory.
//!
//! Reading order: [`VortexAddress`], `hello` (the bytes of the agreement), `attaching` and `listener` (a process's side), `fabric`, `rank`,
//! `attachment`, `link`, `rank` (the fabric's side), [`FabricClock`].

mod address;
mod attaching;
mod attachment;
mod clock;
mod error;
mod fabric;
mod hello;
mod link;
mod listener;
mod options;
mod rank;

pub use address::VortexAddress;
pub(crate) use attaching::{AttachProgress, Attaching, RING_SIZE, connect};
pub use clock::{FabricClock, FabricFacts};
pub use error::VortexError;
pub use fabric::{Fabric, FabricStopper};
pub use hello::FabricRefusal;
pub(crate) use listener::VortexListener;
pub use options::{FabricError, FabricOptions};
