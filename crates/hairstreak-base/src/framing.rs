//! `Framing`: the boundaries of a protocol's messages in encoded bytes.
//!
//! The buffers know no protocol. A protocol passes its framing as a type parameter, so that the calls are inlined and
//! free at run time.

/// The header at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The size of the header, in bytes.
    pub size: usize,
    /// The size of the body that follows the header, in bytes.
    pub body_size: usize,
}

/// An encoded frame at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameShape {
    /// The size of the frame, its header included.
    pub size: usize,
    /// The frame is not part of a message.
    pub is_command: bool,
    /// The frame ends a message.
    pub ends_message: bool,
}

/// Encoding of the frames of one protocol.
pub trait Framing {
    /// Returns the header at the start of `bytes` if a message of exactly one frame begins there. `None` if the
    /// header is incomplete or the frame is of another kind: then the protocol decodes the bytes itself.
    fn single(bytes: &[u8]) -> Option<Header>;

    /// Returns the encoded frame at the start of `bytes`, which this side encoded itself. The body may lie elsewhere.
    /// `None` if no bytes are left.
    fn shape(bytes: &[u8]) -> Option<FrameShape>;
}
