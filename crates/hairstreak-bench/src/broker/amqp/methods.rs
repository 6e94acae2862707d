//! Numbers of the protocol: kinds of frames, and methods as class and method in one word.

/// The first bytes of a connection.
pub const PROTOCOL_HEADER: &[u8; 8] = b"AMQP\x00\x00\x09\x01";
/// Kind, channel and size of a frame.
pub const FRAME_HEADER_SIZE: usize = 7;
/// Header and end of a frame.
pub const FRAME_OVERHEAD: usize = 8;
/// The last byte of a frame.
pub const FRAME_END: u8 = 0xCE;

/// Kind of frame: a method.
pub const METHOD: u8 = 1;
/// Kind of frame: the header of a content.
pub const CONTENT_HEADER: u8 = 2;
/// Kind of frame: a part of a body.
pub const BODY: u8 = 3;
/// Kind of frame: a heartbeat.
pub const HEARTBEAT: u8 = 8;

macro_rules! methods {
    ($($name:ident = $class:literal $method:literal;)*) => {
        $(#[allow(missing_docs)] pub const $name: u32 = ($class << 16) | $method;)*
        /// The name of a method for people.
        pub fn method_name(id: u32) -> String {
            match id {
                $($name => stringify!($name).to_lowercase(),)*
                other => format!("method {}.{}", other >> 16, other & 0xffff),
            }
        }
    };
}

methods! {
    CONNECTION_START = 10 10;
    CONNECTION_START_OK = 10 11;
    CONNECTION_TUNE = 10 30;
    CONNECTION_TUNE_OK = 10 31;
    CONNECTION_OPEN = 10 40;
    CONNECTION_OPEN_OK = 10 41;
    CONNECTION_CLOSE = 10 50;
    CONNECTION_CLOSE_OK = 10 51;
    CONNECTION_BLOCKED = 10 60;
    CONNECTION_UNBLOCKED = 10 61;
    CHANNEL_OPEN = 20 10;
    CHANNEL_OPEN_OK = 20 11;
    CHANNEL_FLOW = 20 20;
    CHANNEL_FLOW_OK = 20 21;
    CHANNEL_CLOSE = 20 40;
    CHANNEL_CLOSE_OK = 20 41;
    EXCHANGE_DECLARE = 40 10;
    EXCHANGE_DECLARE_OK = 40 11;
    EXCHANGE_DELETE = 40 20;
    EXCHANGE_DELETE_OK = 40 21;
    QUEUE_DECLARE = 50 10;
    QUEUE_DECLARE_OK = 50 11;
    QUEUE_BIND = 50 20;
    QUEUE_BIND_OK = 50 21;
    QUEUE_PURGE = 50 30;
    QUEUE_PURGE_OK = 50 31;
    QUEUE_DELETE = 50 40;
    QUEUE_DELETE_OK = 50 41;
    BASIC_QOS = 60 10;
    BASIC_QOS_OK = 60 11;
    BASIC_CONSUME = 60 20;
    BASIC_CONSUME_OK = 60 21;
    BASIC_CANCEL = 60 30;
    BASIC_PUBLISH = 60 40;
    BASIC_DELIVER = 60 60;
    BASIC_ACK = 60 80;
    BASIC_NACK = 60 120;
    CONFIRM_SELECT = 85 10;
    CONFIRM_SELECT_OK = 85 11;
}
