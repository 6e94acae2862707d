//! Numbers of the protocol: kinds of frames, and methods as class and method in one word.

pub use hairstreak_wire::amqp::{FRAME_END, FRAME_HEADER_SIZE, FRAME_OVERHEAD, PROTOCOL_HEADER};

/// The largest frame that is agreed to.
pub const FRAME_SIZE_MAX: usize = 131_072;
/// The channel of everything but the handshake.
pub const CHANNEL: u16 = 1;

/// The kind of a frame with a method.
pub const METHOD: u8 = 1;
/// The kind of a frame with the header of a content.
pub const CONTENT_HEADER: u8 = 2;
/// The kind of a frame with a part of a body.
pub const BODY: u8 = 3;

macro_rules! methods {
    ($($name:ident = $class:literal $method:literal;)*) => {
        $(#[allow(missing_docs)] pub const $name: u32 = ($class << 16) | $method;)*
        const NAMES: &[(u32, &str)] = &[$(($name, stringify!($name))),*];
    };
}

// The answer to a method has the next number: queue.declare-ok is `QUEUE_DECLARE + 1`.
methods! {
    CONNECTION_START = 10 10;
    CONNECTION_START_OK = 10 11;
    CONNECTION_TUNE = 10 30;
    CONNECTION_TUNE_OK = 10 31;
    CONNECTION_OPEN = 10 40;
    CONNECTION_CLOSE = 10 50;
    CONNECTION_BLOCKED = 10 60;
    CONNECTION_UNBLOCKED = 10 61;
    CHANNEL_OPEN = 20 10;
    CHANNEL_FLOW = 20 20;
    CHANNEL_CLOSE = 20 40;
    EXCHANGE_DECLARE = 40 10;
    EXCHANGE_DELETE = 40 20;
    QUEUE_DECLARE = 50 10;
    QUEUE_BIND = 50 20;
    QUEUE_PURGE = 50 30;
    QUEUE_DELETE = 50 40;
    BASIC_QOS = 60 10;
    BASIC_CONSUME = 60 20;
    BASIC_CANCEL = 60 30;
    BASIC_PUBLISH = 60 40;
    BASIC_DELIVER = 60 60;
    BASIC_ACK = 60 80;
    BASIC_NACK = 60 120;
    CONFIRM_SELECT = 85 10;
}

/// The name of a method for people.
pub fn method_name(id: u32) -> String {
    let find = |id| NAMES.iter().find(|(known, _)| *known == id).map(|(_, name)| name.to_lowercase());
    let answer = || Some(find(id.checked_sub(1)?)? + "_ok");
    find(id).or_else(answer).unwrap_or_else(|| format!("method {}.{}", id >> 16, id & 0xffff))
}

#[cfg(test)]
mod tests {
    use super::{CONNECTION_TUNE_OK, QUEUE_DECLARE, method_name};

    #[test]
    fn methods_and_their_answers_have_names() {
        let names = [QUEUE_DECLARE, QUEUE_DECLARE + 1, CONNECTION_TUNE_OK, 0].map(method_name);
        assert_eq!(names, ["queue_declare", "queue_declare_ok", "connection_tune_ok", "method 0.0"]);
    }
}
