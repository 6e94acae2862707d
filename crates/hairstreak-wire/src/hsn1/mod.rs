//! HSN1: Majordomo with numbered requests, between Hairstreak's own clients, brokers and workers.
//!
//! Two peers speak HSN1 if both announce it in READY ([`property`]). With all other peers the protocol is plain
//! [MDP](crate::mdp). A command is one ZeroMQ message. Its first frame begins with a header of a fixed size for each
//! command. The body follows in frames of its own. A body of a single frame of up to 256 bytes lies behind the header
//! in its frame, so that the message has one frame. Numbers are unsigned and big endian.
//!
//! ```text
//! header   "HSN1" | command (1) | fields                                              frames behind it
//!
//! WELCOME     01  | broker (16) | heartbeat_ms (4)                                    -           broker to all
//! REQUEST     02  | client (16) | number (8) | first (8) | lifetime_ms (4) |
//!                   deliveries (2) | flags (1) | size (1) | service                   body ...    client to broker
//!                   deliveries (2) | flags (1)                                        body ...    broker to worker
//! PARTIAL     03  | client (16) | number (8) | index (4)                              body ...    worker to broker to client
//! FINAL       04  | client (16) | number (8) | index (4)                              body ...    likewise
//! REFUSED     05  | client (16) | number (8) | code (2)                               text        likewise
//! CANCEL      06  | client (16) | number (8)                                          -           client to broker to worker
//! READY       07  | capacity (4)                                                      service | held      worker to broker
//! HELD        08                                                                      held        worker to broker
//! DRAIN       09                                                                      -           worker to broker, and back
//! DISCONNECT  10                                                                      text        each way
//! PARTIAL     11  | client (16) | number (8) | index (4) | run (8)                    body ...    as 3, where the request takes runs
//! FINAL       12  | client (16) | number (8) | index (4) | run (8)                    body ...    as 4, of several parts, likewise
//!
//! held        | client (16) | first (8) | last (8) | ...                              requests that run or have their reply cached
//! flags       1: sent before (client), given to a worker before (to a worker); 2: parts of the reply may name their run
//! ```
//!
//! `client` is 128 random bits, and `number` counts a client's requests from 1. `first` is the lowest number without
//! a reply: lower ones may be forgotten. `index` counts the parts of a reply from 0. `lifetime_ms` is the remaining
//! time that the client waits, 0 without a limit. `deliveries` counts the workers that had the request before. `run`
//! is a random number: all parts that one worker sends during one execution of the request share it, and parts of
//! another execution have another.
//!
//! A worker answers every REQUEST of a connection with one FINAL or REFUSED, even a cancelled one: the request counts
//! against its capacity until then. After WELCOME a client resends its unanswered requests, marked as sent before. A
//! client that misses a part by `index` sends its request again.
//!
//! Invariants: a header has the size of its command. Behind it in its frame is at most a body without frames of its
//! own. Lists are parsed as far as they have arrived.
//!
//! - `header`: the first frame
//! - `commands`: whole commands, as seen by a broker and by its peers
//! - `held`: the list of requests that a worker knows
//! - `refusal`: the reasons for a missing reply
//! - `reply_parts`: selects the parts of a reply that a client takes
//! - `request_id`: client and number

mod commands;
mod error;
mod header;
mod held;
mod refusal;
mod reply_parts;
mod request_id;
#[cfg(test)]
mod tests;

pub use commands::{
    BodyPlace, FromBroker, HeldList, INLINE_BODY_SIZE_MAX, Part, ToBroker, parse_from_broker,
    parse_to_broker, with_body,
};
pub use error::Hsn1Error;
pub use header::{Encoded, HEADER_SIZE_MAX, Header, PROTOCOL};
pub use held::{HELD_COUNT_MAX, Held, encode_held, parse_held};
pub use refusal::Refusal;
pub use reply_parts::{PartPlace, PartStep, ReplyParts};
pub use request_id::{ClientId, RequestId, is_spoken_by, property};
