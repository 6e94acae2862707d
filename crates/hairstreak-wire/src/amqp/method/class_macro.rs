//! `class!`: generates the structs of a class's methods, with their encoding and decoding, from one list of fields.
//!
//! ```text
//! Open<'a> = 40, "connection.open" {       the struct, the method id, the name
//!     _: short,                            before all fields: a reserved field, sent as zero
//!     virtual_host: shortstr,              a field and its domain in the specification
//!     ; _: shortstr                        behind all fields: reserved fields, sent as zero or empty
//! }
//! ```
//!
//! The structs borrow their strings. A struct without strings has no lifetime.

/// The Rust type of a domain. The lifetime of the struct stands in brackets, if the struct has one.
macro_rules! domain {
    ($lifetime:tt bit) => {
        bool
    };
    ($lifetime:tt octet) => {
        u8
    };
    ($lifetime:tt short) => {
        u16
    };
    ($lifetime:tt long) => {
        u32
    };
    ($lifetime:tt longlong) => {
        u64
    };
    ([$lifetime:lifetime] shortstr) => {
        &$lifetime[u8]
    };
    ([$lifetime:lifetime] longstr) => {
        &$lifetime[u8]
    };
    ($lifetime:tt table) => {
        $crate::amqp::FieldTable
    };
}

/// A field in the form that the writer takes.
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
            $name:ident $(<$lifetime:lifetime>)? = $method:literal, $text:literal $fields:tt
        )*
    ) => {
        $(method! {
            $(#[$doc])*
            $name [$($lifetime)?] [$($lifetime)?] = ($class, $method), $text $fields
        })*
    };
}

/// One method of a class. The lifetime comes twice: for the struct, and for each of its fields.
macro_rules! method {
    (
        $(#[$doc:meta])*
        $name:ident [$($lt:lifetime)?] $lifetime:tt = $id:expr, $text:literal {
            $(_: $before:ident,)*
            $($(#[$field_doc:meta])* $field:ident: $kind:ident,)*
            $(; _: $after:ident)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name<$($lt)?> {
            $($(#[$field_doc])* pub $field: domain!($lifetime $kind),)*
        }

        impl<$($lt)?> $name<$($lt)?> {
            /// Class id and method id.
            pub const ID: (u16, u16) = $id;

            /// Name in the specification.
            pub const NAME: &'static str = $text;

            /// Decodes the fields: the bytes behind the ids in the payload of a method frame.
            #[inline]
            #[allow(unused_mut, reason = "a method may have no fields")]
            pub fn decode(fields: &$($lt)? [u8]) -> Result<Self, $crate::amqp::DecodeError> {
                let mut reader = $crate::amqp::method::arguments::ArgumentReader::new(fields);
                $(reader.$before()?;)*
                $(let $field = reader.$kind()?;)*
                $(reader.$after()?;)*
                reader.finish()?;
                Ok(Self { $($field,)* })
            }

            /// Appends a whole method frame.
            #[inline]
            #[allow(unused_mut, reason = "a method may have no fields")]
            pub fn encode(&self, channel: u16, out: &mut Vec<u8>) {
                let mut writer = $crate::amqp::method::arguments::ArgumentWriter::begin(channel, Self::ID, out);
                $(writer.$before(Default::default());)*
                $(writer.$kind(argument!(self $field $kind));)*
                $(writer.$after(Default::default());)*
                writer.finish();
            }
        }
    };
}
