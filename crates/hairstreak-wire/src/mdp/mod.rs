//! MDP, the Majordomo protocol, 0.1 (ZeroMQ RFC 7) and 0.2 (RFC 18): clients and workers round a broker.
//!
//! A command is one ZeroMQ message. The broker is a ROUTER; this module handles the frames without routing ids.
//!
//! ```text
//! 0.1       client <-> broker   | empty | "MDPC01" | service | body ...            a request, and its reply
//!           worker <-> broker   | empty | "MDPW01" | 01 | service                  READY
//!                               | empty | "MDPW01" | 02 | address | empty | body ...   REQUEST
//!                               | empty | "MDPW01" | 03 | address | empty | body ...   REPLY
//!                               | empty | "MDPW01" | 04                            HEARTBEAT
//!                               | empty | "MDPW01" | 05                            DISCONNECT
//!
//! 0.2       client <-> broker   | "MDPC02" | 01 | service | body ...               REQUEST
//!                               | "MDPC02" | 02 | service | body ...               PARTIAL
//!                               | "MDPC02" | 03 | service | body ...               FINAL
//!           worker <-> broker   | "MDPW02" | 01 | service                          READY
//!                               | "MDPW02" | 02 | address | empty | body ...       REQUEST
//!                               | "MDPW02" | 03 | address | empty | body ...       PARTIAL
//!                               | "MDPW02" | 04 | address | empty | body ...       FINAL
//!                               | "MDPW02" | 05                                    HEARTBEAT
//!                               | "MDPW02" | 06                                    DISCONNECT
//! ```
//!
//! One box is one frame, `01` one byte. A body has at least one frame. The first frame tells the versions apart, so
//! that one port serves both.
//!
//! - `version`: 0.1 and 0.2
//! - `incoming`: the commands to a broker
//! - `replies`: the commands to clients and workers
//! - `heads`: the frames before a body, in each direction
//! - `address`: the client's address towards a worker
//! - `error`: invalid messages, and the names of services

mod address;
mod error;
mod heads;
mod incoming;
mod replies;
#[cfg(test)]
mod tests;
mod version;

pub use address::{ADDRESS_SIZE, Address};
pub use error::{MdpError, SERVICE_NAME_SIZE_MAX, is_management, is_service_name};
pub use heads::{
    BODY_FRAME_COUNT_MAX, FRAME_COUNT_MAX, Head, client_reply, client_request, worker_command, worker_ready,
    worker_reply, worker_request,
};
pub use incoming::{FromClient, FromPeer, FromWorker, parse};
pub use replies::{Reply, ToWorker, parse_reply, parse_to_worker};
pub use version::{Version, WorkerCommand};
