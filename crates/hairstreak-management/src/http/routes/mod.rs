//! The routes of the API, by noun.
//!
//! - `resource`, `requirement`, `table`: which path means what, and who may
//! - `dispatch`: from there to the functions of the other files

mod bindings;
mod channels;
mod connections;
mod consumers;
mod definitions;
mod dispatch;
mod exchanges;
mod feature_flags;
mod health;
mod identity;
mod limits;
mod messages;
mod nodes;
mod overview;
mod parameters;
mod permissions;
mod policies;
mod properties;
mod queues;
mod requirement;
mod resource;
mod table;
mod users;
mod vhosts;

pub(crate) use dispatch::dispatch;
pub(crate) use properties::read_properties;
pub(crate) use requirement::Requirement;
pub(crate) use resource::Resource;
pub(crate) use table::{Found, find};
