//! Binding: two names become a link from an exchange to a queue.
//!
//! At least one of the two belongs to this process. The other is searched in this process and in the directory until it
//! appears. Inproc joins two objects of this process. Otherwise the local object connects to the remote object. If that
//! connection is lost and the remote object comes back at another endpoint, the local object connects there.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_services::names::client::{AskError, Found};
use hairstreak_socket::ConnectError;
use hairstreak_wire::directory::FieldError;
use thiserror::Error;

use super::object::{Kind, Object};

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
    /// The directory gave no good answer.
    #[error("{name}: {}", error.after(*waited_s))]
    Directory {
        /// The name.
        name: String,
        /// Seconds of the wait.
        waited_s: f32,
        /// The error.
        error: AskError,
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
pub(super) enum Place {
    Here(Arc<Object>),
    Elsewhere(Found),
}

/// Joins two objects of this process. Returns false if they are joined already.
pub(super) fn join(from: &Object, queue: &str, to: &Object) -> Result<bool, BindError> {
    if from.is_linked(queue) {
        return Ok(false);
    }
    let endpoint = to.inproc().map_err(|source| BindError::Join { name: queue.to_owned(), source })?;
    let refused = |source| BindError::Connect { name: queue.to_owned(), source };
    from.plug.connect(&endpoint).map_err(refused)?;
    from.add_link(queue, None);
    Ok(true)
}

pub(super) fn expect_kind(object: Arc<Object>, name: &str, expected: Kind) -> Result<Arc<Object>, BindError> {
    if object.kind() == expected {
        return Ok(object);
    }
    Err(BindError::WrongKind { name: name.to_owned(), expected, found: object.kind().to_string() })
}

/// Checks the kind that the holder told the directory. Other programs may tell none.
pub(super) fn expect_kind_told(found: &Found, name: &str, expected: Kind) -> Result<(), BindError> {
    match found.attributes.find("kind") {
        Some(kind) if kind != expected.to_string().as_bytes() => {
            let found = String::from_utf8_lossy(kind).escape_debug().to_string();
            Err(BindError::WrongKind { name: name.to_owned(), expected, found })
        }
        _ => Ok(()),
    }
}
