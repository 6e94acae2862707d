//! ZeroMQ's socket patterns on an engine where **the calling thread does its own I/O**.
//!
//! A [`Socket`] belongs to an engine: one epoll and all connections of the sockets that one thread
//! opened in one [`Context`]. A thread inside `send` or `recv` drives that engine itself; a
//! background thread steps in only while no caller is there. Handles are `Send + Sync`; a socket used
//! by several threads costs an atomic exchange per call, by one thread none. For independent speed, open
//! sockets in the thread that uses them.
//!
//! Reading order: [`Socket`] (socket.rs, sending.rs, receiving.rs), engine/ (who drives what, and
//! when), session/ (one connection's bytes), ring_link.rs (inproc), pattern.rs and pipeline/, reqrep/,
//! pubsub/, pair.rs, stream.rs (patterns), poller/ and proxy/ (several sockets at once), monitor/ (what happens
//! to connections), settlement/ (nothing lost from PUSH to PULL), security/ (mechanisms, authentication, addresses).

mod ages;
mod background;
mod batch;
mod context;
mod engine;
mod errors;
mod inproc;
mod options;
mod outgoing;
mod pattern;
mod peer;
mod properties;
mod receiving;
mod ring_link;
mod sending;
mod session;
mod socket;
mod stats;
mod waiting;

pub mod monitor;
pub mod pair;
pub mod pipeline;
pub mod poller;
pub mod proxy;
pub mod pubsub;
pub mod reqrep;
pub mod security;
pub mod settlement;
pub mod stream;

pub use context::Context;
pub use errors::{
    AddError, BindError, ConnectError, ModifyError, OpenError, ProxyError, RecvError, RunError, SendAllError,
    SendError, SubscribeError, WaitError,
};
pub use hairstreak_base::{Bytes, Message};
pub use hairstreak_transport::{Endpoint, EndpointError, IpcAddress, ResolveError, TcpAddress};
pub use options::{Distribution, Options, OptionsError, Overflow, RouterNotify};
pub use outgoing::Outgoing;
pub use pair::Pair;
pub use pattern::{Pattern, Receives, Sends};
pub use peer::PeerInfo;
pub use pipeline::{Pull, Push};
pub use poller::{Interest, Poller, Ready};
pub use properties::PropertiesError;
pub use proxy::{Proxy, ProxyControl, ProxyEnd, ProxySocket, ProxyStats, ProxyTraffic};
pub use pubsub::{Pub, Publishes, Sub, Subscribes, XPub, XSub};
#[doc(hidden)]
pub use reqrep::PeerHeartbeats;
pub use reqrep::{Dealer, Rep, Req, Router};
pub use socket::Socket;
pub use stats::{Drops, Rates, Stats};
pub use stream::Stream;
