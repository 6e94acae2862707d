//! `Component`: the exchanges, queues and names of one process of an application, and its connection to the directory.
//!
//! On the wire an exchange is a PUSH socket and a queue a PULL socket, so either end of a link may be any ZeroMQ
//! program. Inproc joins two ends in one process. Otherwise the global end listens and the other end connects.
//!
//! - `builder`, `component`: [`Component`], which binds and lists
//! - `open`: [`ObjectBuilder`] gives an exchange or queue its socket, its name, and if it is global its endpoint
//! - `object`: an open exchange or queue, as its component knows it
//! - `names`: the names of this process
//! - `bind`: the parts of a binding that need no component, and its error
//! - `list`: a page of the names in the directory, and the error of listing

mod bind;
mod builder;
#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod component;
mod list;
mod names;
mod object;
mod open;

pub use bind::BindError;
pub use builder::ComponentBuilder;
pub use component::Component;
pub use list::{DirectoryEntry, ListError};
pub use names::Scope;
pub use object::Kind;
pub(crate) use object::Object;
pub use open::{ExchangeBuilder, ObjectBuilder, OpenError, QueueBuilder};
