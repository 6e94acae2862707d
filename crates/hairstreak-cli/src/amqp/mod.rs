//! Queues and exchanges from the command line, at any broker of AMQP 0-9-1.
//!
//! - `arguments`: the arguments of `declare`, `delete`, `bind`, `unbind` and `purge`
//! - `value`: values of AMQP as typed text, and as JSON
//! - `session`: a connection for the time of a command; `tls`: its certificates
//! - `topology`: `declare`, `delete`, `bind`, `unbind`, `purge`
//! - `publish`, `consume`: one folder each
//! - `meter`: signals and progress

mod arguments;
mod consume;
mod meter;
mod publish;
mod session;
mod tls;
mod topology;
mod value;

pub use arguments::{BindArguments, DeclareArguments, DeleteArguments, PurgeArguments, UnbindArguments};
pub use consume::{ConsumeArguments, consume};
pub use publish::{PublishArguments, publish};
pub use tls::server_name;
pub use topology::{bind, declare, delete, purge, unbind};
pub use value::{PropertyValues, Record};
