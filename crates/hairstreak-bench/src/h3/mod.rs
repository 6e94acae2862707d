//! `hairstreak bench h3`: the H3 harness of the paper "Vortex-topology Messaging", for any transport and broker.
//!
//! ```text
//!   controller --orders--> agents: sender A, sender B     --transport--> receiver A, receiver B: memory, or a broker's queue
//!              <-counts--
//!   controller -> report -> terminal, HTML, JSON, CSV
//! ```
//! Invariants: a run counts only if every message of it has arrived with its bytes, in its order; a sample is a window
//! of fixed length; no consumer runs while a run is measured.
//!
//! Reading order: `contender` and `plan` (the runs), `data` (messages and the count of arrivals), `agent`, `controller`,
//! `results`.

mod agent;
mod contender;
mod controller;
mod data;
mod plan;
mod results;

pub use agent::serve;
pub use controller::run;
pub use plan::{AgentSettings, Settings};
