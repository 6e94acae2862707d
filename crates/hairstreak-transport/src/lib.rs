//! The transports of Hairstreak: endpoints, byte streams over tcp, ipc, shared memory, TLS and a simulated fabric,
//! their listeners, and the poller that reports readiness.
//!
//! Stream transports give bytes only; one session driver (in `hairstreak-socket`) serves all of them. Only `resolve`,
//! [`Poller::wait`] and [`Listener::bind_vortex`] block.
//!
//! To add a stream transport, put the way of its bytes into `stream/`, and extend the sources of [`Listener`].

mod connection;
mod delivery;
mod endpoint;
pub mod event_loop;
mod listener;
mod poller;
mod resolve;
pub mod shm;
mod stream;
pub mod vortex;

pub use connection::{Connection, Drained, GATHER_TIME, Look, Read, Silent};
pub use delivery::Delivery;
pub use endpoint::{Endpoint, EndpointError, IpcAddress, TcpAddress};
pub use listener::Listener;
pub use poller::{Interest, Poller, Readiness, Timer};
pub use resolve::{ResolveError, resolve_bind, resolve_connect, resolve_each};
pub use stream::{ClientLayer, Established, ServerLayer, Stream, tls};
