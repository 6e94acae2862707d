//! `Pages`: the requests of a virtual host to write messages of its queues to disk, and to read them back.
//!
//! ```text
//!   queue with much in memory --> Write --> server --> `pages_written` --> the messages leave the memory
//!   queue with little in memory --> Read --> server --> `pages_read` --> the messages are in memory again
//! ```
//!
//! The server takes the requests at the end of a turn. Messages that the message log has are not written a second time.

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
        /// None of these pages was read before. The queue may have no consumer: a few messages are enough.
        is_first: bool,
    },
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
}

/// The requests since the server took them last.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) requests: Vec<PageRequest>,
    /// The node has little memory left: queues write messages to disk.
    pub(super) are_written: bool,
}
