//! `Framing`: where a protocol's messages begin and end among encoded bytes.
//!
//! The buffers know no protocol. A protocol hands them its framing as a type parameter, so that the calls are
//! inlined and cost nothing at run time.

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
    /// The frame belongs to no message.
    pub is_command: bool,
    /// A message ends with the frame.
    pub ends_message: bool,
}

/// How the frames of one protocol are encoded.
pub trait Framing {
    /// The header at the start of `bytes` if a message of exactly one frame begins there. `None`: the header is not here
    /// whole, or the frame is of another kind. Then the protocol decodes the bytes itself.
    fn single(bytes: &[u8]) -> Option<Header>;

    /// The encoded frame at the start of `bytes`, which this side encoded itself. The body may lie elsewhere. `None`: no bytes are left.
    fn shape(bytes: &[u8]) -> Option<FrameShape>;
}
