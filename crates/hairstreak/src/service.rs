//! Services: requests that are answered even if workers, connections or the broker die. The protocol is Majordomo with
//! numbered requests.
//!
//! A [`Client`] numbers its requests and keeps each until the reply is there. A [`Worker`] keeps its replies until
//! their clients have them. The broker between them (`hairstreak serve`) stores nothing. When one of the three dies,
//! the other two resend the requests and replies under way, and no request that is done is done again.
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
//! Any Majordomo broker, client and worker (MDP 0.1 and 0.2) can take part. A broker of another project knows no
//! request numbers: the client then has one request under way at a time, and repeats none. [`Client::uses_hsn1`]
//! returns whether the broker knows them.

pub use hairstreak_services::{
    Client, ClientError, ClientOptions, HandlerError, MemoryStore, Replies, Reply, ReplyStore, Request,
    RequestError, StoredReply, Worker, WorkerControl, WorkerError, WorkerOptions, WorkerReport,
};
pub use hairstreak_wire::hsn1::{ClientId, Held, Refusal, RequestId};
pub use hairstreak_wire::management::{Drops, REPORT_SERVICE, Report, ServiceReport};
pub use hairstreak_wire::mdp::Version;
