//! `Properties`: what is said about a message. A broker keeps them encoded and decodes them where it must know.
//!
//! ```text
//! flags (2) | content-type | content-encoding | headers | delivery-mode | priority | correlation-id | reply-to
//!           | expiration | message-id | timestamp | type | user-id | app-id | cluster-id
//!
//! bit 15 of the flags: content-type is there ... bit 2: cluster-id is there; bits 1 and 0 are zero
//! ```

use super::field::FieldTable;

/// The properties of a message of class basic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties<'a> {
    /// The MIME type of the body.
    pub content_type: Option<&'a [u8]>,
    /// The MIME encoding of the body.
    pub content_encoding: Option<&'a [u8]>,
    /// What the application adds.
    pub headers: Option<FieldTable>,
    /// 1: transient, 2: persistent.
    pub delivery_mode: Option<u8>,
    /// The priority; higher goes first.
    pub priority: Option<u8>,
    /// Which request a reply answers.
    pub correlation_id: Option<&'a [u8]>,
    /// The queue for replies.
    pub reply_to: Option<&'a [u8]>,
    /// After how many milliseconds the message expires, in decimal digits.
    pub expiration: Option<&'a [u8]>,
    /// What the application calls the message.
    pub message_id: Option<&'a [u8]>,
    /// When the message was made, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// What kind of message it is: the property `type`.
    pub kind: Option<&'a [u8]>,
    /// Which user published the message. The server checks it.
    pub user_id: Option<&'a [u8]>,
    /// Which application published the message.
    pub app_id: Option<&'a [u8]>,
    /// Reserved.
    pub cluster_id: Option<&'a [u8]>,
}

const CONTENT_TYPE: u16 = 1 << 15;
const CONTENT_ENCODING: u16 = 1 << 14;
const HEADERS: u16 = 1 << 13;
const DELIVERY_MODE: u16 = 1 << 12;
const PRIORITY: u16 = 1 << 11;
const CORRELATION_ID: u16 = 1 << 10;
const REPLY_TO: u16 = 1 << 9;
const EXPIRATION: u16 = 1 << 8;
const MESSAGE_ID: u16 = 1 << 7;
const TIMESTAMP: u16 = 1 << 6;
const KIND: u16 = 1 << 5;
const USER_ID: u16 = 1 << 4;
const APP_ID: u16 = 1 << 3;
const CLUSTER_ID: u16 = 1 << 2;
/// Another word of flags follows, or a bit that has no property.
const NO_PROPERTY: u16 = 0b11;
