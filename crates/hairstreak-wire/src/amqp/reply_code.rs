//! Reply codes: reasons for closing a channel or a connection, or for returning a message, with RabbitMQ's names.

use super::strings::SHORT_STRING_SIZE_MAX;

/// Scope of a reply code: the channel or the connection that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A soft error: the channel is closed, the connection stays open.
    Channel,
    /// A hard error: the connection is closed.
    Connection,
}

macro_rules! reply_codes {
    ($($(#[$doc:meta])* $code:ident = $number:literal, $name:literal, $scope:ident;)*) => {
        /// A reply code of connection.close, channel.close and basic.return.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum ReplyCode {
            $($(#[$doc])* $code = $number,)*
        }

        impl ReplyCode {
            /// All reply codes, in numeric order.
            pub const ALL: &'static [ReplyCode] = &[$(ReplyCode::$code,)*];

            /// Returns the reply code with that number on the wire.
            pub const fn from_number(number: u16) -> Option<ReplyCode> {
                match number {
                    $($number => Some(ReplyCode::$code),)*
                    _ => None,
                }
            }

            /// Returns the name that RabbitMQ puts before the reply text, such as `NOT_FOUND`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ReplyCode::$code => $name,)*
                }
            }

            /// Returns the scope of the code.
            pub const fn scope(self) -> Scope {
                match self {
                    $(ReplyCode::$code => Scope::$scope,)*
                }
            }
        }
    };
}

reply_codes! {
    /// 200: a close without an error.
    Success = 200, "REPLY_SUCCESS", Channel;
    /// 311: the content is larger than the receiver accepts.
    ContentTooLarge = 311, "CONTENT_TOO_LARGE", Channel;
    /// 312: no queue is bound for a mandatory message.
    NoRoute = 312, "NO_ROUTE", Channel;
    /// 313: no consumer is ready for an immediate message.
    NoConsumers = 313, "NO_CONSUMERS", Channel;
    /// 320: an operator closed the connection.
    ConnectionForced = 320, "CONNECTION_FORCED", Connection;
    /// 402: the virtual host is unknown.
    InvalidPath = 402, "INVALID_PATH", Connection;
    /// 403: the client may not do this.
    AccessRefused = 403, "ACCESS_REFUSED", Channel;
    /// 404: the queue or exchange does not exist.
    NotFound = 404, "NOT_FOUND", Channel;
    /// 405: another connection has exclusive use of the queue.
    ResourceLocked = 405, "RESOURCE_LOCKED", Channel;
    /// 406: a precondition does not hold, such as equal arguments on a second declaration.
    PreconditionFailed = 406, "PRECONDITION_FAILED", Channel;
    /// 501: a frame cannot be decoded.
    FrameError = 501, "FRAME_ERROR", Connection;
    /// 502: a field of a frame has an illegal value.
    SyntaxError = 502, "SYNTAX_ERROR", Connection;
    /// 503: the method is invalid, or not valid in this state.
    CommandInvalid = 503, "COMMAND_INVALID", Connection;
    /// 504: the channel is not open, or is opened twice.
    ChannelError = 504, "CHANNEL_ERROR", Connection;
    /// 505: a frame is not valid here, such as a body without a content header.
    UnexpectedFrame = 505, "UNEXPECTED_FRAME", Connection;
    /// 506: resources are missing.
    ResourceError = 506, "RESOURCE_ERROR", Connection;
    /// 530: the operation is forbidden for every client.
    NotAllowed = 530, "NOT_ALLOWED", Connection;
    /// 540: the server does not implement the method.
    NotImplemented = 540, "NOT_IMPLEMENTED", Connection;
    /// 541: an internal error of the server.
    InternalError = 541, "INTERNAL_ERROR", Connection;
}

impl ReplyCode {
    /// Returns the number on the wire.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Returns the reply text of a close: name and `text`, as in `NOT_FOUND - no queue 'q' in vhost '/'`. A text that
    /// is too long for a short string is cut and ends with `...`, as RabbitMQ's.
    pub fn reply_text(self, text: &str) -> Vec<u8> {
        let mut reply = format!("{} - {text}", self.name()).into_bytes();
        if reply.len() > SHORT_STRING_SIZE_MAX {
            reply.truncate(SHORT_STRING_SIZE_MAX - 3);
            reply.extend_from_slice(b"...");
        }
        reply
    }
}
