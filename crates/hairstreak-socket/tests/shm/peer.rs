//! `Peer`: one that comes to share memory in good order, and then does as it likes.

use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use hairstreak_testkit::until;
use hairstreak_transport::shm::{Segment, Side};
use hairstreak_transport::{IpcAddress, Stream};
use hairstreak_wire::zmtp::{Handshake, LocalPeer, SharedStep, SharedTerms, SocketType};

pub const RING_SIZE: usize = 4096;
/// Words and bytes of both rings.
pub const SEGMENT_SIZE: usize = 4096 + 2 * RING_SIZE;

pub struct Peer {
    pub stream: Stream,
    received: Vec<u8>,
}

impl Peer {
    /// Connects to an `shm://NAME` and does the handshake, as one whose number is larger than any, or smaller.
    pub fn connect(place: &str, socket_type: SocketType, gives: bool) -> Peer {
        let address = IpcAddress::Abstract(place.strip_prefix("shm://").unwrap().to_owned());
        let mut stream = Stream::connect_ipc(&address).unwrap();
        stream.expect_segment();
        let mut peer = Peer { stream, received: Vec::new() };
        let number = if gives { u64::MAX } else { 0 };
        let terms = SharedTerms { ring_size: RING_SIZE as u32, number };
        let local = LocalPeer { socket_type, routing_id: Vec::new(), properties: vec![terms.to_property()] };
        let mut handshake = Handshake::new(local, Default::default());
        until("handshake", || {
            if let Some(bytes) = handshake.poll_transmit() {
                peer.write(&bytes);
            }
            let bytes = peer.read().unwrap_or_default();
            peer.received.extend(bytes);
            let consumed = handshake.handle_bytes(&peer.received).unwrap();
            peer.received.drain(..consumed);
            handshake.poll_ready().is_some()
        });
        peer
    }

    /// Gives a segment and waits for it to be taken. Returns its file.
    pub fn give(&mut self) -> File {
        let (segment, file) = Segment::create(RING_SIZE).unwrap();
        let offer = SharedStep::Given.to_frame();
        assert_eq!(self.stream.write_with(&offer, file.as_fd()).unwrap(), offer.len());
        self.wait_for(&SharedStep::Taken.to_frame());
        self.stream.go_on_in(segment, Side::Giver);
        file.into()
    }

    /// Takes the segment that it is given.
    pub fn take(&mut self) {
        self.wait_for(&SharedStep::Given.to_frame());
        let segment = self.stream.take_segment(RING_SIZE).unwrap();
        self.write(&SharedStep::Taken.to_frame());
        self.stream.go_on_in(segment, Side::Taker);
    }

    /// Waits until it has received these bytes, and forgets what it has received.
    pub fn wait_for(&mut self, bytes: &[u8]) {
        until("bytes", || {
            let more = self.read().unwrap_or_default();
            self.received.extend(more);
            self.received.windows(bytes.len()).any(|window| window == bytes)
        });
        self.received.clear();
    }

    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut room = [MaybeUninit::uninit(); 65_536];
        self.stream.read(&mut room).map(|bytes| bytes.to_vec())
    }

    /// Writes as much as is taken.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.stream.write(&[IoSlice::new(bytes)]).unwrap_or_default()
    }
}
