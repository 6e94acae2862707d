//! `Properties`: the metadata of a message. A broker keeps them encoded and decodes them only if needed.
//!
//! ```text
//! flags (2) | content-type | content-encoding | headers | delivery-mode | priority | correlation-id | reply-to
//!           | expiration | message-id | timestamp | type | user-id | app-id | cluster-id
//!
//! bit 15 of the flags: content-type ... bit 2: cluster-id; bits 1 and 0 are ignored, as in RabbitMQ
//! ```

use super::cursor::Cursor;
use super::error::DecodeError;
use super::field::{FieldTable, Fields, check_table};
use super::strings::put_short_string;

/// The Rust type of a property's domain.
macro_rules! property {
    ($lt:lifetime shortstr) => {
        &$lt[u8]
    };
    ($lt:lifetime octet) => {
        u8
    };
    ($lt:lifetime timestamp) => {
        u64
    };
    ($lt:lifetime table) => {
        FieldTable
    };
}

/// Takes a property of a domain from a cursor. The last argument decodes tables.
macro_rules! take {
    (shortstr, $cursor:ident, $table:ident) => {
        Some($cursor.short_string()?)
    };
    (octet, $cursor:ident, $table:ident) => {
        Some($cursor.octet()?)
    };
    (timestamp, $cursor:ident, $table:ident) => {
        Some(u64::from_be_bytes($cursor.array()?))
    };
    (table, $cursor:ident, $table:ident) => {
        $table($cursor.long_string()?)?
    };
}

/// Appends a property of a domain.
macro_rules! put {
    (shortstr, $value:ident, $out:ident) => {
        put_short_string($value, $out)
    };
    (octet, $value:ident, $out:ident) => {
        $out.push(*$value)
    };
    (timestamp, $value:ident, $out:ident) => {
        $out.extend_from_slice(&$value.to_be_bytes())
    };
    (table, $value:ident, $out:ident) => {
        $value.encode($out)
    };
}

macro_rules! properties {
    ($($(#[$doc:meta])* $bit:literal $name:ident: $kind:ident,)*) => {
        /// The properties of a message of class basic.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Properties<'a> {
            $($(#[$doc])* pub $name: Option<property!('a $kind)>,)*
        }

        impl<'a> Properties<'a> {
            /// Decodes properties. `decode_headers` handles the table of the headers.
            fn decode_with(
                bytes: &'a [u8],
                mut decode_headers: impl FnMut(&'a [u8]) -> Result<Option<FieldTable>, DecodeError>,
            ) -> Result<Properties<'a>, DecodeError> {
                let mut cursor = Cursor(bytes);
                let flags = u16::from_be_bytes(cursor.array()?);
                let mut properties = Properties::default();
                $(if flags & 1 << $bit != 0 {
                    properties.$name = take!($kind, cursor, decode_headers);
                })*
                cursor.finish()?;
                Ok(properties)
            }

            /// Appends the encoded properties: flags and list.
            pub fn encode(&self, out: &mut Vec<u8>) {
                let mut flags = 0_u16;
                $(flags |= u16::from(self.$name.is_some()) << $bit;)*
                out.extend_from_slice(&flags.to_be_bytes());
                $(if let Some(value) = &self.$name {
                    put!($kind, value, out);
                })*
            }
        }
    };
}

properties! {
    /// The MIME type of the body.
    15 content_type: shortstr,
    /// The MIME encoding of the body.
    14 content_encoding: shortstr,
    /// Fields defined by the application.
    13 headers: table,
    /// 1: transient, 2: persistent.
    12 delivery_mode: octet,
    /// The priority; higher is delivered first.
    11 priority: octet,
    /// The id that links a reply to its request.
    10 correlation_id: shortstr,
    /// The queue for replies.
    9 reply_to: shortstr,
    /// Milliseconds until the message expires, in decimal digits.
    8 expiration: shortstr,
    /// The application's id of the message.
    7 message_id: shortstr,
    /// Time of the message, in seconds since 1970.
    6 timestamp: timestamp,
    /// The type of the message: the property `type`.
    5 kind: shortstr,
    /// The user who published the message. A server checks the name.
    4 user_id: shortstr,
    /// The application that published the message.
    3 app_id: shortstr,
    /// Reserved.
    2 cluster_id: shortstr,
}

impl<'a> Properties<'a> {
    /// Decodes properties that fill `bytes`.
    pub fn decode(bytes: &'a [u8]) -> Result<Properties<'a>, DecodeError> {
        Properties::decode_with(bytes, |headers| FieldTable::decode_fields(headers).map(Some))
    }

    /// Like [`decode`](Properties::decode), but without allocation: the headers are checked as a whole and stay
    /// encoded. They are the second value.
    pub fn decode_flat(bytes: &'a [u8]) -> Result<(Properties<'a>, Option<Fields<'a>>), DecodeError> {
        let mut fields = None;
        let properties = Properties::decode_with(bytes, |headers| {
            check_table(headers)?;
            fields = Some(Fields::new(headers));
            Ok(None)
        })?;
        Ok((properties, fields))
    }
}
