//! AMQP 0-9-1 with RabbitMQ's extensions, both sides.
//!
//! A connection begins with the [`PROTOCOL_HEADER`] of the client. What follows is a stream of frames: methods, and
//! for the methods that carry content a content header and the frames of the body.
//!
//! ```text
//! basic.publish, basic.deliver, basic.return, basic.get-ok:
//!
//! | method frame | header frame | body frame | body frame ...
//! ```
//!
//! Not here: which method may come when (the server and the clients), and what a broker does with messages.
//!
//! Short strings are bytes of any encoding, at most 255. Nothing is allocated for what a length announces; what is
//! decoded without tables borrows from its bytes and allocates nothing.
//!
//! - `frame`: the protocol header, cuts the stream, and frames of bodies and heartbeats
//! - `method`: methods and their ids
//! - `content_header`, `properties`: what is said about a message
//! - `field`: field tables
//! - `reply_code`: why something is closed
//! - `tuning`: how two sides agree on limits
//! - `sasl`: how a client says who it is

mod content_header;
mod cursor;
mod error;
mod field;
mod frame;
mod method;
mod properties;
mod reply_code;
pub mod sasl;
mod strings;
mod tuning;

pub use content_header::{CLASS_BASIC, CONTENT_HEADER_SIZE, ContentHeader, encode_content_header};
pub use error::DecodeError;
pub use field::{DEPTH_MAX, EncodedTable, FIELD_COUNT_MAX, Field, FieldTable, FieldValue, Fields, Values};
pub use frame::{
    FRAME_END, FRAME_HEADER_SIZE, FRAME_OVERHEAD, FRAME_SIZE_ALLOWANCE, FRAME_SIZE_MIN, Frame, FrameError,
    FrameKind, HEARTBEAT_FRAME, PROTOCOL_HEADER, PROTOCOL_HEADER_0_9, ProtocolHeaderError, check_frame_size,
    decode_frame, decode_protocol_header, encode_body, encode_frame_header,
};
pub use method::basic::{ACK_FRAME_SIZE, ack_frame, encode_ack};
pub use method::{Method, access, basic, channel, confirm, connection, exchange, method_id, queue, tx};
pub use properties::Properties;
pub use reply_code::{ReplyCode, Scope};
pub use strings::SHORT_STRING_SIZE_MAX;
pub use tuning::{Tuning, TuningError};
