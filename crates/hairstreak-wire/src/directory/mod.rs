//! HSD1, the protocol between the directory and its clients: names to endpoints, with leases.
//!
//! A request or a reply is one ZeroMQ message; the directory is a ROUTER, a client a DEALER or REQ.
//!
//! ```text
//! +-----------+--------+------------+------+-----------+
//! | empty (?) | "HSD1" | request id | verb | field ... |     one box is one frame
//! +-----------+--------+------------+------+-----------+
//! ```
//!
//! The empty first frame is sent by a REQ socket; a reply begins as its request did. The request id is any 0 to 16
//! bytes, and the reply repeats it. Numbers are unsigned, 32 bits, big endian. docs/directory.md lists verbs and
//! fields.
//!
//! Not in this module: the holders of names and their leases (the broker crate), and any sending.

mod attributes;
mod endpoint;
mod envelope;
mod field;
mod name;
mod reply;
mod request;
#[cfg(test)]
mod tests;

pub use attributes::{ATTRIBUTE_COUNT_MAX, ATTRIBUTE_KEY_SIZE_MAX, ATTRIBUTE_VALUE_SIZE_MAX, Attributes};
pub use endpoint::{ENDPOINT_SIZE_MAX, Endpoint};
pub use envelope::{Envelope, EnvelopeError, PROTOCOL, REQUEST_ID_SIZE_MAX, RequestId};
pub use field::FieldError;
pub use name::{NAME_SIZE_MAX, Name};
pub use name::{OWNER_SIZE, Owner};
pub use reply::{ErrorCode, FRAME_COUNT_MAX, LIST_ENTRY_COUNT_MAX, Reply, ReplyError, TEXT_SIZE_MAX};
pub use request::{RefusedRequest, Registration, Request, RequestError};
