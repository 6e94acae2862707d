//! Services: requests that are answered although workers, connections or the broker die; Majordomo, numbered.
//!
//! A [`Client`] numbers its requests and keeps each until it has the reply; a [`Worker`] keeps its replies until their clients
//! have them; the broker between them (`hairstreak serve`) stores nothing, so that whichever of the three dies, the other two
//! say again what was under way, and what was done is not done again.
//!
//! ```no_run
//! use hairstreak::service::{Client, Worker};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // One process serves ...
//! let worker = Worker::connect("tcp://127.0.0.1:5555", "shout")?;
//! worker.run(|request| Ok(String::from_utf8_lossy(request.body()).to_uppercase().into()))?;
//!
//! // ... another one asks.
//! let client = Client::connect("tcp://127.0.0.1:5555")?;
//! assert_eq!(client.call("shout", "hello")?.body(), b"HELLO");
//! # Ok(())
//! # }
//! ```
//!
//! Every Majordomo broker, client and worker (MDP 0.1 and 0.2) can take part. Between a client and a broker of others there are
//! no numbers, so that the client has one request at a time under way, and repeats none; [`Client::uses_hsn1`] tells.

pub use hairstreak_services::{
    Client, ClientError, ClientOptions, HandlerError, MemoryStore, Replies, Reply, ReplyStore, Request,
    RequestError, StoredReply, Worker, WorkerControl, WorkerError, WorkerOptions, WorkerReport,
};
pub use hairstreak_wire::hsn1::{ClientId, Held, Refusal, RequestId};
pub use hairstreak_wire::management::{Drops, REPORT_SERVICE, Report, ServiceReport};
pub use hairstreak_wire::mdp::Version;
