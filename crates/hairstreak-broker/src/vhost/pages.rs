//! `Pages`: the requests of a virtual host to write messages of its queues to disk, and to read them back.
//!
//! ```text
//!   queue with much in memory --> Write --> server --> `pages_written` --> the messages leave the memory
//!   queue with little in memory --> Read --> server --> `pages_read` --> the messages are in memory again
//! ```
//!
//! The server takes the requests at the end of a turn. Messages that the message log has are not written a second time.

use std::collections::VecDeque;

use crate::message::Message;
use crate::queue::QueueId;

/// The pages of a queue. A queue that empties its pages has other pages later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePlace {
    pub(super) queue: QueueId,
    pub(super) page_id: u64,
}

impl PagePlace {
    /// The id of the pages. No other pages of the node have had this id.
    pub fn page_id(&self) -> u64 {
        self.page_id
    }
}

/// A lease of a logged queue, which goes to the message log with the changes of the same turn ([`LogChange::Leased`](super::LogChange::Leased)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    pub(super) queue: QueueId,
    pub(super) log_id: u64,
    /// Place of the last message that may be delivered.
    pub(super) through: u64,
}

/// A request of a virtual host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// Messages up to a place are to leave the memory. Messages outside of the message log have gone to
    /// [`HostOutbox::write_page`](super::HostOutbox::write_page).
    Write {
        /// The pages.
        place: PagePlace,
        /// Place of the last message.
        through: u64,
        /// Some of the messages are in the message log.
        has_logged: bool,
        /// Estimated memory of the messages.
        bytes: u64,
    },
    /// Messages are to be read.
    Read {
        /// The pages.
        place: PagePlace,
        /// Id of the queue in the message log, or 0.
        log_id: u64,
        /// Place from which messages are on disk.
        from: u64,
        /// Place of the last message on disk.
        through: u64,
        /// Not all of these messages are in the message log.
        has_unlogged: bool,
        /// A client waits for the messages. Other messages stay on disk while memory is short.
        is_wanted: bool,
        /// Bytes that are enough.
        bytes: u64,
    },
    /// The host is to be told by [`VirtualHost::lease_granted`](super::VirtualHost::lease_granted) once the message log has a lease on the disk.
    Lease(LeaseRequest),
    /// Pages are abandoned.
    Forget {
        /// The id of the pages.
        page_id: u64,
    },
}

/// A message that was read from the disk.
#[derive(Clone, Copy)]
pub struct ReadMessage<'a> {
    /// The message.
    pub message: Message<'a>,
    /// Place in the queue.
    pub sequence: u64,
    /// Expiry time.
    pub expires_at: Option<u64>,
    /// Returns so far.
    pub return_count: u16,
    /// The message log has the message.
    pub is_logged: bool,
    /// True if the message may have been delivered before the node was killed.
    pub was_delivered: bool,
}

/// The requests since the server took them last, and the progress of writing.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) requests: Vec<PageRequest>,
    /// The node has little memory left: queues write messages to disk.
    pub(super) are_written: bool,
    /// Bytes of messages that a queue keeps in memory. Fewer where memory stays short.
    pub(super) page_bytes: u64,
    /// Estimated memory of messages that are being written.
    pub(super) writing_bytes: u64,
    /// The visit of all queues that waits for writes.
    pub(super) paused: Option<PausedVisit>,
    /// Leases that may not be on disk, with the times at which deliveries go on without.
    pub(super) leases: VecDeque<(LeaseRequest, u64)>,
}

/// A visit of all queues that waits for writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PausedVisit {
    /// Position in the table of queues.
    pub(super) position: usize,
    /// Memory of the host at which waiting began, where all queues had their turn.
    pub(super) memory_bytes: Option<usize>,
    /// Bytes that were written since.
    pub(super) written_bytes: u64,
}

impl Pages {
    pub(super) fn new(page_bytes: u64) -> Pages {
        Pages {
            requests: Vec::new(),
            are_written: false,
            page_bytes,
            writing_bytes: 0,
            paused: None,
            leases: VecDeque::new(),
        }
    }
}
