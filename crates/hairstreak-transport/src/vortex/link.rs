//! `Link`: a process's end of a stream. Bytes go between the rings of the process and the streams of its card.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;

use hairstreak_fabric::stream::{Found, StreamId, Streams};

use crate::stream::{Established, Stream};

/// Bytes that go at once.
const PART_SIZE: usize = 16 * 1024;

/// A process's end of a stream.
#[derive(Debug)]
pub(super) struct Link {
    pub id: StreamId,
    /// The other card has accepted the stream: bytes may go.
    is_open: bool,
    /// The process has written all it will.
    has_read_all: bool,
    /// The process takes no more bytes.
    is_deaf: bool,
    /// The other end has ended.
    is_ended: bool,
    /// The other end takes no more bytes.
    is_peer_deaf: bool,
    /// Both ends have ended, and the card has forgotten the stream.
    is_over: bool,
    /// Bytes for the process, from `held_at` on.
    held: Vec<u8>,
    held_at: usize,
}

impl Link {
    pub fn new(id: StreamId, is_open: bool) -> Link {
        Link {
            id,
            is_open,
            has_read_all: false,
            is_deaf: false,
            is_ended: false,
            is_peer_deaf: false,
            is_over: false,
            held: Vec::new(),
            held_at: 0,
        }
    }

    /// The other card has accepted the stream, and the process is about to give its rings.
    pub fn open(&mut self) {
        self.is_open = true;
    }

    /// Carries bytes both ways, as far as they go. Returns whether the link is needed any longer.
    pub fn advance(&mut self, stream: &mut Stream, streams: &mut Streams) -> bool {
        if self.is_open {
            match stream.establish() {
                Ok(Established::Done) => {
                    self.take(stream, streams);
                    self.give(stream, streams);
                }
                Ok(_) => {}
                // The process is gone, or is none of ours.
                Err(_) => {
                    streams.reset(self.id);
                    return false;
                }
            }
        }
        if self.is_peer_deaf && self.is_deaf {
            streams.abandon(self.id);
            return false;
        }
        // A link is also done when its process has all bytes and the other end reads none. The process sees the end of its socket.
        let is_done = self.is_over || self.is_peer_deaf && self.is_ended;
        !is_done || self.has_held() && !self.is_deaf
    }

    /// The other end takes no more bytes.
    pub fn on_peer_deaf(&mut self) {
        self.is_peer_deaf = true;
    }

    /// The process has ended. Bytes that it has written are still carried. It reads nothing more.
    pub fn on_process_gone(&mut self, stream: &mut Stream, streams: &mut Streams) {
        stream.on_peer_ended();
        self.is_deaf = true;
        self.held.clear();
        if !self.is_open || self.has_read_all {
            streams.abandon(self.id);
        }
    }

    /// The card has forgotten the stream.
    pub fn on_stream_over(&mut self) {
        self.is_over = true;
    }

    /// Bytes of the process go to the card.
    fn take(&mut self, stream: &mut Stream, streams: &mut Streams) {
        let mut part = [MaybeUninit::uninit(); PART_SIZE];
        while !self.has_read_all {
            let room = streams.room(self.id).min(PART_SIZE);
            if room == 0 {
                // The streams tell of room.
                return;
            }
            match stream.read(&mut part[..room]) {
                Ok([]) => {
                    self.has_read_all = true;
                    if self.is_deaf {
                        streams.abandon(self.id);
                    } else {
                        streams.close(self.id);
                    }
                }
                Ok(bytes) => {
                    streams.write(self.id, bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The rings make no sense.
                Err(_) => {
                    self.has_read_all = true;
                    self.is_deaf = true;
                    streams.reset(self.id);
                }
            }
        }
    }

    /// Bytes of the card go to the process.
    fn give(&mut self, stream: &mut Stream, streams: &mut Streams) {
        let mut part = [0; PART_SIZE];
        while !self.is_deaf && self.give_held(stream, streams) && !self.is_ended {
            match streams.read(self.id, &mut part) {
                Found::Bytes(count) => self.held.extend_from_slice(&part[..count]),
                Found::Nothing => return,
                Found::End | Found::Reset => {
                    self.is_ended = true;
                    stream.shutdown_write();
                }
            }
        }
    }

    /// Bytes that are held go to the process. Returns whether none is left.
    fn give_held(&mut self, stream: &mut Stream, streams: &mut Streams) -> bool {
        while self.has_held() {
            match stream.write(&[IoSlice::new(&self.held[self.held_at..])]) {
                Ok(count) => self.held_at += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // An event reports the end of a process.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return false,
                // The rings make no sense.
                Err(_) => {
                    self.has_read_all = true;
                    self.is_deaf = true;
                    streams.reset(self.id);
                    return false;
                }
            }
        }
        // An idle stream holds no memory.
        (self.held, self.held_at) = (Vec::new(), 0);
        true
    }

    fn has_held(&self) -> bool {
        self.held_at < self.held.len()
    }
}
