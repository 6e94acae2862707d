//! `class!`: the structs of a class's methods, with what encodes and decodes them, from one list of their fields.
//!
//! ```text
//! Deliver<'a> = 60, "basic.deliver" {          the struct, the method id, the name
//!     consumer_tag: shortstr,                  a field and its domain in the specification
//!     _: short,                                in front of all fields: one that is reserved, sent as zero
//!     ; _: bit                                 behind all fields: the same
//! }
//! ```

/// The Rust type of a domain.
macro_rules! domain {
    ($($lt:lifetime)? bit) => {
        bool
    };
    ($($lt:lifetime)? octet) => {
        u8
    };
    ($($lt:lifetime)? short) => {
        u16
    };
    ($($lt:lifetime)? long) => {
        u32
    };
    ($($lt:lifetime)? longlong) => {
        u64
    };
    ($lt:lifetime shortstr) => {
        &$lt[u8]
    };
    ($lt:lifetime longstr) => {
        &$lt[u8]
    };
    ($($lt:lifetime)? table) => {
        FieldTable
    };
}

/// A field as the writer takes it.
macro_rules! argument {
    ($self:ident $field:ident table) => {
        &$self.$field
    };
    ($self:ident $field:ident $kind:ident) => {
        $self.$field
    };
}

macro_rules! class {
    (
        $class:literal;
        $(
            $(#[$doc:meta])*
            $name:ident $(<$lt:lifetime>)? = $method:literal, $text:literal {
                $(_: $before:ident,)*
                $($(#[$field_doc:meta])* $field:ident: $kind:ident,)*
                $(; _: $after:ident)*
            }
        )*
    ) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $name<$($lt)?> {
                $($(#[$field_doc])* pub $field: domain!($($lt)? $kind),)*
            }

            impl<$($lt)?> $name<$($lt)?> {
                /// The class id and the method id.
                pub const ID: (u16, u16) = ($class, $method);

                /// The name in the specification.
                pub const NAME: &'static str = $text;

                /// Decodes the fields: what follows the ids in the payload of a method frame.
                #[inline]
                pub fn decode<'r $(: $lt)?>(fields: &'r [u8]) -> Result<Self, DecodeError> {
                    let mut reader = ArgumentReader::new(fields);
                    $(reader.$before()?;)*
                    $(let $field = reader.$kind()?;)*
                    $(reader.$after()?;)*
                    reader.finish()?;
                    Ok(Self { $($field,)* })
                }

                /// Appends a whole method frame.
                #[inline]
                pub fn encode(&self, channel: u16, out: &mut Vec<u8>) {
                    let mut writer = ArgumentWriter::begin(channel, Self::ID, out);
                    $(writer.$before(Default::default());)*
                    $(writer.$kind(argument!(self $field $kind));)*
                    $(writer.$after(Default::default());)*
                    writer.finish();
                }
            }
        )*
    };
}

pub(super) use {argument, class, domain};
