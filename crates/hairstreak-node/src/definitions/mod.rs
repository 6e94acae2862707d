//! Definitions: all declared objects that survive a restart of the node: virtual hosts, users, permissions, policies, exchanges,
//! queues and bindings.
//!
//! Each kind has one type, with the keys of RabbitMQ's `definitions.json`. The same type is the body of an HTTP request, an entry
//! of a file that is imported or exported, and a value in the data directory.
//!
//! - `name`, `arguments`: values that JSON does not have as they are
//! - `types`: a type for each kind
//! - `definition`: any of them, with its key and its bytes in the data directory
//! - `json_text`, `fields`: JSON in the forms that RabbitMQ reads, for files and for bodies of HTTP
//! - `document`, `reading`, `items`: the file

mod arguments;
mod definition;
mod document;
mod fields;
mod items;
mod json_text;
mod name;
mod reading;
mod types;

pub use arguments::{Arguments, to_json};
pub use definition::{Change, Definition, DefinitionError, Kind, Place};
pub use document::{Document, LeftOut, UserItem};
pub use fields::{FieldError, Fields};
pub use json_text::JsonText;
pub use name::Name;
pub use reading::{DocumentError, read_document};
pub use types::{
    BindingDefinition, ConfiguredUserDefinition, DestinationType, ExchangeDefinition,
    GlobalParameterDefinition, Limits, ParameterDefinition, PermissionDefinition, PolicyDefinition,
    QueueDefinition, TopicPermissionDefinition, UserDefinition, VirtualHostDefinition,
};
