//! AMQP 0-9-1 with RabbitMQ's extensions, both sides.
//!
//! A connection begins with the [`PROTOCOL_HEADER`] of the client. A stream of frames follows: methods, and behind a
//! method with content a content header and body frames.
//!
//! ```text
//! basic.publish, basic.deliver, basic.return, basic.get-ok:
//!
//! | method frame | header frame | body frame | body frame ...
//! ```
//!
//! Not in this module: the permitted order of methods (the server and the clients), and the handling of messages (the
//! broker).
//!
//! Short strings are bytes of any encoding, at most 255. No memory is allocated for an announced length. Values
//! without tables borrow from their bytes and allocate nothing.
//!
//! - `frame`: the protocol header, the cutting of the stream into frames, and body and heartbeat frames
//! - `method`: methods and their ids
//! - `content_header`, `properties`: the description of a message
//! - `field`: field tables
//! - `reply_code`: reasons of a close
//! - `tuning`: the negotiation of limits
//! - `sasl`: the authentication of clients

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
pub use error::{DEPTH_MAX, DecodeError, FIELD_COUNT_MAX};
pub use field::{EncodedTable, Field, FieldTable, FieldValue, Fields, Values};
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
