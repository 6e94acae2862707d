//! Views: the objects of a virtual host as operators see them. Owned copies, so that whoever shows them holds no lock.
//!
//! [`Views`](crate::vhost::Views) makes them.

mod binding;
mod channel;
mod consumer;
mod exchange;
mod peek;
mod queue;

pub use binding::BindingInfo;
pub use channel::ChannelInfo;
pub use consumer::ConsumerInfo;
pub use exchange::ExchangeInfo;
pub use peek::PeekInfo;
pub use queue::{QueueInfo, QueuePolicies};
