//! The routes of the API, by noun: the JSON form of an object, and the operations on it.
//!
//! - `table`: method, path, right and handler of each route
//! - `properties`: the properties of a message; `properties_key`, `term_hash`: the name of a binding

mod bindings;
mod channels;
mod connections;
mod consumers;
mod definitions;
mod exchanges;
mod health;
mod limits;
mod messages;
mod nodes;
mod overview;
mod parameters;
mod permissions;
mod policies;
mod properties;
mod properties_key;
mod queues;
mod table;
mod term_hash;
mod users;
mod vhosts;

pub(crate) use connections::{ConnectionIndex, channel_name};
pub(crate) use overview::Objects;
pub(crate) use properties::read_properties;
pub(crate) use table::{Route, allow, find, of_method};
