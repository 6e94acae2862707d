//! Binding: two names become a link from an exchange to a queue.
//!
//! At least one of the two belongs to this process. The other is searched in this process and in the directory until it
//! appears. Inproc joins two objects of this process. Otherwise the local object connects to the remote object. If that
//! connection is lost and the remote object comes back at another endpoint, the local object connects there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_services::names::client::{AskError, Found, because};
use hairstreak_socket::{ConnectError, ResolveError};
use hairstreak_wire::directory::{Endpoint, FieldError, Name};
use thiserror::Error;

use super::component::Component;
use super::names;
use super::object::{Kind, Object, Plug};

/// Interval at which names of this process are checked while the directory is asked.
const GLANCE: Duration = Duration::from_millis(500);

/// An error of binding two names.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// A name breaks a rule.
    #[error("{name}: {reason}")]
    Invalid {
        /// The name.
        name: String,
        /// The fault.
        reason: FieldError,
    },
    /// Neither of the names belongs to this process.
    #[error("neither exchange {exchange} nor queue {queue} is of this process, one of them must be")]
    BothElsewhere {
        /// The exchange.
        exchange: String,
        /// The queue.
        queue: String,
    },
    /// An exchange is expected and a queue is found, or the reverse.
    #[error("{name} is no {expected} but {found}")]
    WrongKind {
        /// The name.
        name: String,
        /// The expected kind.
        expected: Kind,
        /// The actual kind: `exchange`, `queue`, or the word of another program.
        found: String,
    },
    /// The two names are bound already.
    #[error("{exchange} is bound to {queue} already")]
    AlreadyBound {
        /// The exchange.
        exchange: String,
        /// The queue.
        queue: String,
    },
    /// The name did not appear in time.
    #[error("there is no {kind} {name}: waited {} s for it in {searched}", waited.as_secs_f32())]
    UnknownName {
        /// The expected kind.
        kind: Kind,
        /// The name.
        name: String,
        /// The place that was searched.
        searched: String,
        /// Duration of the search.
        waited: Duration,
    },
    /// The directory's host is unknown.
    #[error("{name}: the directory at {directory} cannot be reached: {trouble}")]
    Unreachable {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
        /// The resolver's error.
        trouble: ResolveError,
    },
    /// The directory did not answer.
    #[error("{name}: no answer from the directory at {directory} in {} s{}", waited.as_secs_f32(), because(trouble))]
    NoAnswer {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
        /// Duration of the wait.
        waited: Duration,
        /// The resolver's error, if the directory's host could not be resolved.
        trouble: Option<ResolveError>,
    },
    /// The directory refused to answer.
    #[error("{name}: the directory at {directory} refuses: {text}")]
    Refused {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
        /// The directory's answer.
        text: String,
    },
    /// A fork: the connection to the directory belongs to the parent process, which built the component. Build another
    /// component.
    #[error(
        "{name}: the connection to the directory at {directory} belongs to the process that this one was forked from"
    )]
    Forked {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
    },
    /// The remote endpoint cannot be connected to.
    #[error("{name}: {source}")]
    Connect {
        /// The name.
        name: String,
        /// The error.
        source: ConnectError,
    },
    /// The two objects of this process could not be joined.
    #[error("{name}: {source}")]
    Join {
        /// The name.
        name: String,
        /// The error.
        source: hairstreak_socket::BindError,
    },
}

/// The place where a name was found.
enum Place {
    Here(Arc<Object>),
    Elsewhere(Found),
}

impl Component {
    /// Binds the exchange to the queue: from now on the queue gets the exchange's messages, by the exchange's style.
    /// Waits for a name that is not there yet. Does not wait until the connection is up.
    pub fn bind(&self, exchange: &str, queue: &str) -> Result<(), BindError> {
        let here = |name, kind| {
            let object = names::find(&self.keys(name));
            object.map(|object| expect_kind(object, name, kind)).transpose()
        };
        let both = || (exchange.to_owned(), queue.to_owned());
        let (from, to) = match (here(exchange, Kind::Exchange)?, here(queue, Kind::Queue)?) {
            (None, None) => {
                let (exchange, queue) = both();
                return Err(BindError::BothElsewhere { exchange, queue });
            }
            (Some(from), Some(to)) => (Place::Here(from), Place::Here(to)),
            (Some(from), None) => (Place::Here(from), self.wait_for(queue, Kind::Queue)?),
            (None, Some(to)) => (self.wait_for(exchange, Kind::Exchange)?, Place::Here(to)),
        };
        let is_bound = match (from, to) {
            (Place::Here(from), Place::Here(to)) => !join(&from, queue, &to)?,
            (Place::Here(from), Place::Elsewhere(found)) => !self.connect(&from, queue, &found)?,
            (Place::Elsewhere(found), Place::Here(to)) => !self.connect(&to, exchange, &found)?,
            (Place::Elsewhere(_), Place::Elsewhere(_)) => false,
        };
        let (exchange, queue) = both();
        if is_bound { Err(BindError::AlreadyBound { exchange, queue }) } else { Ok(()) }
    }

    /// Waits until a name appears, at most for the component's patience.
    fn wait_for(&self, text: &str, kind: Kind) -> Result<Place, BindError> {
        let name = Name::new(text)
            .map_err(|reason| BindError::Invalid { name: text.escape_debug().to_string(), reason })?;
        let deadline = Instant::now() + self.inner.patience;
        let keys = self.keys(text);
        let Some(client) = &self.inner.directory else {
            let object = names::wait_for(&keys, deadline);
            let object = object.ok_or_else(|| self.unknown(text, kind, "this process"))?;
            return Ok(Place::Here(expect_kind(object, text, kind)?));
        };
        loop {
            if let Some(object) = names::find(&keys) {
                return Ok(Place::Here(expect_kind(object, text, kind)?));
            }
            let glance = deadline.min(Instant::now() + GLANCE);
            let answer = client.look_up(&name, glance);
            let is_over = Instant::now() >= deadline;
            match answer {
                Ok(Some(found)) => {
                    expect_kind_told(&found, text, kind)?;
                    return Ok(Place::Elsewhere(found));
                }
                Ok(None) if is_over => {
                    return Err(self.unknown(text, kind, &format!("the directory at {}", client.endpoint())));
                }
                Err(AskError::NoAnswer { directory, trouble }) if is_over => {
                    let (name, waited) = (text.to_owned(), self.inner.patience);
                    return Err(BindError::NoAnswer { name, directory, waited, trouble });
                }
                Err(AskError::Unreachable { directory, trouble }) => {
                    return Err(BindError::Unreachable { name: text.to_owned(), directory, trouble });
                }
                Err(AskError::Refused { directory, text: reason }) => {
                    return Err(BindError::Refused { name: text.to_owned(), directory, text: reason });
                }
                Err(AskError::Forked { directory }) => {
                    return Err(BindError::Forked { name: text.to_owned(), directory });
                }
                Ok(None) | Err(AskError::NoAnswer { .. }) => {}
            }
        }
    }

    fn unknown(&self, name: &str, kind: Kind, searched: &str) -> BindError {
        BindError::UnknownName {
            kind,
            name: name.to_owned(),
            searched: searched.to_owned(),
            waited: self.inner.patience,
        }
    }

    /// Connects an object of this process to a remote object, and follows its name in the directory. Returns false if
    /// the two are linked already.
    fn connect(&self, object: &Object, other: &str, found: &Found) -> Result<bool, BindError> {
        if object.is_linked(other) {
            return Ok(false);
        }
        let refused = |source| BindError::Connect { name: other.to_owned(), source };
        object.plug.connect(found.endpoint.as_str()).map_err(refused)?;
        let name = Name::new(other)
            .map_err(|reason| BindError::Invalid { name: other.escape_debug().to_string(), reason })?;
        let plug = object.plug.clone();
        let follow = self
            .inner
            .directory
            .as_ref()
            .map(|client| client.follow(&name, &found.endpoint, move |from, to| plug.move_to(from, to)));
        object.add_link(other, follow);
        Ok(true)
    }
}

impl Plug {
    fn connect(&self, endpoint: &str) -> Result<(), ConnectError> {
        match self {
            Plug::Exchange(push) => push.connect(endpoint),
            Plug::Queue(pull) => pull.connect(endpoint),
        }
    }

    /// Moves the connection from one endpoint to another. Does nothing while the connection to the first is up: its
    /// holder may merely have another address, and messages on their way would be lost. Returns whether it moved.
    fn move_to(&self, from: &Endpoint, to: &Endpoint) -> bool {
        let peers = match self {
            Plug::Exchange(push) => push.peers(),
            Plug::Queue(pull) => pull.peers(),
        };
        let stands = |left: hairstreak_socket::Endpoint| {
            let left = left.to_string();
            peers.iter().any(|peer| peer.endpoint == left)
        };
        // If the new endpoint cannot be connected to, nothing changes. The next may be better.
        if from.as_str().parse().is_ok_and(stands) || self.connect(to.as_str()).is_err() {
            return false;
        }
        match self {
            Plug::Exchange(push) => push.disconnect(from.as_str()),
            Plug::Queue(pull) => pull.disconnect(from.as_str()),
        };
        true
    }
}

/// Joins two objects of this process. Returns false if they are joined already.
fn join(from: &Object, queue: &str, to: &Object) -> Result<bool, BindError> {
    if from.is_linked(queue) {
        return Ok(false);
    }
    let endpoint = to.inproc().map_err(|source| BindError::Join { name: queue.to_owned(), source })?;
    let refused = |source| BindError::Connect { name: queue.to_owned(), source };
    from.plug.connect(&endpoint).map_err(refused)?;
    from.add_link(queue, None);
    Ok(true)
}

fn expect_kind(object: Arc<Object>, name: &str, expected: Kind) -> Result<Arc<Object>, BindError> {
    if object.kind() == expected {
        return Ok(object);
    }
    Err(BindError::WrongKind { name: name.to_owned(), expected, found: object.kind().to_string() })
}

/// Checks the kind that the holder told the directory. Other programs may tell none.
fn expect_kind_told(found: &Found, name: &str, expected: Kind) -> Result<(), BindError> {
    match found.attributes.find("kind") {
        Some(kind) if kind != expected.to_string().as_bytes() => {
            let found = String::from_utf8_lossy(kind).escape_debug().to_string();
            Err(BindError::WrongKind { name: name.to_owned(), expected, found })
        }
        _ => Ok(()),
    }
}
