//! What carries bytes: endpoints, byte streams over tcp, ipc, shared memory, TLS and a simulated fabric, their
//! listeners, and the poller that tells when they are ready.
//!
//! Stream transports give bytes only; one session driver (in `hairstreak-socket`) serves all of
//! them. Nothing here blocks but `resolve`, [`Poller::wait`] and [`Listener::bind_vortex`].
//!
//! Adding a stream transport: how its bytes go in `stream/`, and what its [`Listener`] accepts.

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
