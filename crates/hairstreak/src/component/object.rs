//! `Object`: the socket, the names and the links of an open exchange or queue.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hairstreak_services::names::client::{Follow, Registration};
use hairstreak_socket::{BindError, ConnectError, Endpoint, Pull, Push};

use super::names::{self, Key};

/// The kind of object that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Messages are sent to it.
    Exchange,
    /// Messages are received from it.
    Queue,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Exchange => "exchange",
            Kind::Queue => "queue",
        })
    }
}

/// An object's socket.
#[derive(Clone)]
pub(crate) enum Plug {
    Exchange(Push),
    Queue(Pull),
}

impl Plug {
    pub(super) fn bind(&self, endpoint: &str) -> Result<Endpoint, BindError> {
        match self {
            Plug::Exchange(push) => push.bind(endpoint),
            Plug::Queue(pull) => pull.bind(endpoint),
        }
    }

    pub(super) fn connect(&self, endpoint: &str) -> Result<(), ConnectError> {
        match self {
            Plug::Exchange(push) => push.connect(endpoint),
            Plug::Queue(pull) => pull.connect(endpoint),
        }
    }

    /// Moves the connection from one endpoint to another. Does nothing while the connection to the first is up: its
    /// holder may merely have another address, and messages on their way would be lost. Returns whether it moved.
    pub(super) fn move_to(&self, from: &str, to: &str) -> bool {
        let peers = match self {
            Plug::Exchange(push) => push.peers(),
            Plug::Queue(pull) => pull.peers(),
        };
        let is_up = |left: Endpoint| {
            let left = left.to_string();
            peers.iter().any(|peer| peer.endpoint == left)
        };
        // If the new endpoint cannot be connected to, nothing changes. The next may be better.
        if from.parse().is_ok_and(is_up) || self.connect(to).is_err() {
            return false;
        }
        match self {
            Plug::Exchange(push) => push.disconnect(from),
            Plug::Queue(pull) => pull.disconnect(from),
        };
        true
    }
}

/// An open exchange or queue, shared by its handles. Its names disappear with the last handle.
pub(crate) struct Object {
    pub(super) plug: Plug,
    keys: Vec<Key>,
    state: Mutex<State>,
    /// The endpoint of the listener, if there is a listener.
    pub(super) bound: OnceLock<Endpoint>,
    /// The entry of a global object in the directory.
    pub(super) registration: OnceLock<Registration>,
}

#[derive(Default)]
struct State {
    /// The endpoint for other objects of this process, once one of them has asked for it.
    inproc: Option<String>,
    links: Vec<Link>,
}

/// A bound name.
struct Link {
    other: Box<str>,
    /// Follows the other end if that is in another process.
    _follow: Option<Follow>,
}

impl Object {
    pub(super) fn new(plug: Plug, keys: Vec<Key>) -> Object {
        Object { plug, keys, state: Mutex::default(), bound: OnceLock::new(), registration: OnceLock::new() }
    }

    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(super) fn kind(&self) -> Kind {
        match self.plug {
            Plug::Exchange(_) => Kind::Exchange,
            Plug::Queue(_) => Kind::Queue,
        }
    }

    /// Returns the endpoint of the listener, if there is a listener.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.bound.get()
    }

    /// Returns whether the object is global and the directory confirmed its name when last asked.
    pub(crate) fn is_registered(&self) -> bool {
        self.registration.get().is_some_and(Registration::is_confirmed)
    }

    pub(super) fn is_linked(&self, other: &str) -> bool {
        self.state().links.iter().any(|link| *link.other == *other)
    }

    pub(super) fn add_link(&self, other: &str, follow: Option<Follow>) {
        self.state().links.push(Link { other: other.into(), _follow: follow });
    }

    /// Returns the endpoint within this process. The first call binds it.
    pub(super) fn inproc(&self) -> Result<String, BindError> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let mut state = self.state();
        if let Some(endpoint) = &state.inproc {
            return Ok(endpoint.clone());
        }
        let endpoint = format!("inproc://hairstreak-{}", LAST.fetch_add(1, Ordering::Relaxed) + 1);
        self.plug.bind(&endpoint)?;
        state.inproc = Some(endpoint.clone());
        Ok(endpoint)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        names::release(&self.keys);
    }
}
