//! Event loops: a thread for each core, with its poller, its timers, its connections and a mailbox from the other
//! loops. A [`Protocol`] handles the bytes of a connection.
//!
//! ```text
//!   listener --accepted streams--> the loop with the fewest connections
//!
//!   loop 0: poller, timers, connections  --mail, in batches-->  loop 1: poller, timers, connections
//! ```
//!
//! One turn of a loop handles events, mail and timers. Then each connection with input has its turn, with a budget of
//! bytes. At last all output is written and all mail is posted. A loop blocks only in the wait for events, which lasts
//! until the next timer, and in short waits for locks. A connection that finds a lock taken for longer is deferred to
//! the next turn.
//!
//! Reading order: `protocol` and `context` (the interface of a protocol), `mailbox`, `loop_set`, `table` (the
//! connections of a loop), `turn` (one turn), `listening`, `loops` (the threads). `harness` is for tests.

mod context;
mod harness;
mod listening;
mod loop_set;
mod loops;
mod mailbox;
mod options;
mod protocol;
mod table;
mod turn;

pub use context::Context;
#[doc(hidden)]
pub use harness::Harness;
pub use loops::{EventLoops, Handle};
pub use mailbox::Address;
pub use options::{LoopOptions, OnAcceptFailure, OnFailure};
pub use protocol::End;
pub use protocol::Protocol;
