//! The data plane of H3: what is sent, across which stream, and how arrivals are counted and verified.
//!
//! Nothing here knows the controller. `agent` puts these parts together.

mod blocking_stream;
mod clock;
mod deliveries;
mod digest;
mod framing;
mod generator;
mod publisher;
mod store;
mod windows;

pub use blocking_stream::{BlockingStream, listen, parse};
pub use clock::{Clock, Time};
pub use deliveries::Deliveries;
pub use digest::{Digester, Tally};
pub use framing::{Frames, HEADER_SIZE, push_frame};
pub use generator::Generator;
pub use publisher::{BLOCKED_CAPABILITY, Publisher};
pub use store::Store;
pub use windows::{Counts, Windows};
