//! What happens to a socket's connections, told as a stream of [`Event`]s: listening, connecting, handshakes and why
//! they failed, disconnections and why.
//!
//! [`Socket::monitor`](crate::Socket::monitor) begins one; a socket may have several. Events wait in a queue of the
//! monitor's own, with a limit (`monitor_event_count_max`): one that nobody reads loses its oldest and says with the
//! next event how many. The engine puts events there under its lock and runs nobody's code meanwhile; a socket without
//! monitors makes none. A monitor outlives its socket, tells of what happens after the close, and ends when the last
//! connection has.

mod event;
mod queue;

pub use event::{ConnectionId, DisconnectCause, Event, EventKind, HandshakeFailure};
pub(crate) use queue::{MONITORS_MAX, MonitorSender};
pub use queue::{Monitor, MonitorError, MonitorRecvError};
