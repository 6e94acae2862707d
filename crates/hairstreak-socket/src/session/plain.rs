//! A session without ZMTP, for STREAM: no handshake, no frames; bytes are passed on as they come.

use hairstreak_base::Message;
use hairstreak_wire::zmtp::{RemotePeer, SocketType};

use super::zmtp::Session;
use crate::outgoing::Parcel;

impl Session {
    /// Who the other end of a plain connection is. It knows no PING (ZMTP 3.0 would be the same).
    pub(super) fn plain_peer() -> RemotePeer {
        RemotePeer {
            minor: 0,
            socket_type: SocketType::Stream,
            routing_id: Vec::new(),
            properties: Default::default(),
            user_id: None,
        }
    }

    /// An empty message, which says that the connection is made, or over.
    pub fn push_notice(&mut self) {
        self.ahead.push_back((Message::new(), 0, self.decoded_position()));
        self.keep_step();
    }

    /// All that lies in the read buffer.
    pub(super) fn take_plain(&mut self) -> Option<Message> {
        let size = self.connection.input.unread().len();
        if size == 0 {
            return None;
        }
        self.decoded_bytes += size;
        Some(self.connection.input.take(0, size).into())
    }

    /// The parcel's frames as they are; they are not all empty.
    pub(super) fn push_plain(&mut self, parcel: &Parcel<'_>) {
        let count = parcel.message.frame_count();
        parcel.message.for_each_frame(|index, frame| {
            if index >= parcel.skip_frames {
                self.connection.output.push_copy(&[], frame, index + 1 == count);
            }
        });
    }
}
