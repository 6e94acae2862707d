//! The two drivers of the handshake tests: a [`Pair`] of our own ends joined by bytes in memory, and
//! [`receive`], one end that is fed the bytes of a peer.

use hairstreak_wire::zmtp::{
    Greeting, Handshake, HandshakeError, HandshakeLimits, LocalPeer, RemotePeer, SocketType, command,
    metadata,
};

/// A socket without routing id or further properties.
pub fn local(socket_type: SocketType) -> LocalPeer {
    LocalPeer { socket_type, routing_id: Vec::new(), properties: Vec::new() }
}

/// A handshake with default limits.
pub fn handshake(local: LocalPeer) -> Handshake {
    Handshake::new(local, HandshakeLimits::default())
}

/// The bytes of a peer that sends our greeting and then a READY with this metadata.
pub fn greeting_and_ready(metadata: &[u8]) -> Vec<u8> {
    let mut bytes = Greeting::encode("NULL", false).to_vec();
    command::encode_ready(&mut bytes, metadata);
    bytes
}

/// Metadata with only a socket type.
pub fn socket_type_metadata(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    metadata::encode(&mut out, "Socket-Type", name);
    out
}

/// Feeds `chunks` to a handshake. Returns the number of consumed bytes, and the bytes that it sent.
pub fn receive<'a>(
    handshake: &mut Handshake,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(usize, Vec<u8>), HandshakeError> {
    let (mut consumed, mut sent) = (0, handshake.poll_transmit().unwrap_or_default());
    for chunk in chunks {
        let taken = handshake.handle_bytes(chunk)?;
        sent.extend(handshake.poll_transmit().unwrap_or_default());
        consumed += taken;
        if taken < chunk.len() {
            break;
        }
    }
    Ok((consumed, sent))
}

/// One end of a [`Pair`]: its handshake, the bytes on their way to it, and the peer that it found.
struct End {
    handshake: Handshake,
    inbox: Vec<u8>,
    remote: Option<RemotePeer>,
}

/// Two ends of ours that shake hands; bytes travel in chunks of a given size.
pub struct Pair {
    ends: [End; 2],
    chunk_size: usize,
}

impl Pair {
    pub fn new(locals: [LocalPeer; 2], chunk_size: usize) -> Pair {
        let ends = locals.map(|local| End { handshake: handshake(local), inbox: Vec::new(), remote: None });
        Pair { ends, chunk_size }
    }

    /// Carries bytes to and fro until neither end has any for the other, then hands out what each
    /// found and the bytes that it left unread. An end that is ready sends `traffic` right behind.
    pub fn run(mut self, traffic: &[u8]) -> Result<[(RemotePeer, Vec<u8>); 2], HandshakeError> {
        let mut moved = true;
        while moved {
            moved = false;
            for index in 0..2 {
                moved |= self.turn(index, traffic)?;
            }
        }
        Ok(self.ends.map(|end| (end.remote.expect("an end never became ready"), end.inbox)))
    }

    fn turn(&mut self, index: usize, traffic: &[u8]) -> Result<bool, HandshakeError> {
        let end = &mut self.ends[index];
        let size = end.inbox.len().min(self.chunk_size);
        let consumed = end.handshake.handle_bytes(&end.inbox[..size])?;
        end.inbox.drain(..consumed);
        let mut sent = end.handshake.poll_transmit().unwrap_or_default();
        if let Some(remote) = end.handshake.poll_ready() {
            assert!(end.remote.replace(remote).is_none(), "ready twice");
            sent.extend_from_slice(traffic);
        }
        let moved = consumed > 0 || !sent.is_empty();
        self.ends[1 - index].inbox.extend(sent);
        Ok(moved)
    }
}
