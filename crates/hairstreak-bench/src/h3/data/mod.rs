//! The data plane of H3: messages, the streams that carry them, and the count of arrivals.
//!
//! - `messages`: messages that are made, framed and digested
//! - `stream`: a stream of any transport that waits
//! - `arrivals`: arrivals by window, in the host's or the fabric's time, and the memory of a receiver
//! - `publisher`: messages into a queue
//!
//! Nothing here knows the controller. `agent` puts these parts together.

mod arrivals;
mod messages;
mod publisher;
mod stream;

pub use arrivals::{Arrivals, Clock, Store, Time, Windows};
pub use messages::{Digester, Frames, Generator, HEADER_SIZE, Tally, push_frame};
pub use publisher::{Publisher, open_link};
pub use stream::{BlockingStream, listen};
