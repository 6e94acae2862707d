//! HSN1: Majordomo with numbered requests, between Hairstreak's own clients, brokers and workers.
//!
//! Spoken where both sides say in READY that they can ([`property`]); with everybody else it is plain
//! [MDP](crate::mdp). A command is one ZeroMQ message. Its first frame begins with a header of a fixed size for each command. A body
//! follows in frames of its own; one of a single frame, of up to 256 bytes, lies behind the header in its frame, so that the message has one
//! frame. Numbers are unsigned and big endian.
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
//! `client` is 128 random bits, `number` counts a client's requests from 1, `first` is the first of them that it has
//! no reply to: what is below may be forgotten. `index` counts the parts of a reply from 0. `lifetime_ms` is how long the
//! client waits still, 0 for ever. `deliveries` counts the workers that had the request before. `run` is a random number: all parts of a
//! reply that one worker says while it does the request once have the same one, and parts of another reply have another.
//!
//! A worker answers every REQUEST of a connection with one FINAL or REFUSED, one that was cancelled too: its place is
//! taken until then. A client that gets WELCOME sends again what it has no reply to, marked as sent before; one that finds
//! by `index` that a part is missing sends its request again.
//!
//! Invariants: a header has the size of its command; behind it in its frame is nothing but a body that has no frames of its own; lists are
//! read as far as they arrived.
//!
//! - `header`: the first frame
//! - `commands`: whole commands, as a broker gets them and as its peers do
//! - `held`: the list of requests that a worker knows
//! - `refusal`: what instead of a reply
//! - `reply_parts`: which parts of a reply a client takes
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
