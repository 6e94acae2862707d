//! `ApplyTo`: the kinds of objects that a policy is for. `ObjectKind`: the kind of an object.

use std::fmt;
use std::str::FromStr;

use crate::queue::QueueKind;

/// The objects that a policy is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyTo {
    /// Exchanges and queues.
    #[default]
    All,
    /// Exchanges.
    Exchanges,
    /// Queues of each kind.
    Queues,
    /// Classic queues.
    ClassicQueues,
    /// Quorum queues.
    QuorumQueues,
    /// Streams, of which there are none.
    Streams,
}

/// The object that a policy may be for, without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Exchange,
    Queue(QueueKind),
}

impl ApplyTo {
    const ALL: [ApplyTo; 6] = [
        ApplyTo::All,
        ApplyTo::Exchanges,
        ApplyTo::Queues,
        ApplyTo::ClassicQueues,
        ApplyTo::QuorumQueues,
        ApplyTo::Streams,
    ];

    /// The word of RabbitMQ's HTTP API.
    pub fn name(self) -> &'static str {
        match self {
            ApplyTo::All => "all",
            ApplyTo::Exchanges => "exchanges",
            ApplyTo::Queues => "queues",
            ApplyTo::ClassicQueues => "classic_queues",
            ApplyTo::QuorumQueues => "quorum_queues",
            ApplyTo::Streams => "streams",
        }
    }

    pub(super) fn has_exchanges(self) -> bool {
        matches!(self, ApplyTo::All | ApplyTo::Exchanges)
    }

    pub(super) fn has_queues(self, kind: QueueKind) -> bool {
        match self {
            ApplyTo::All | ApplyTo::Queues => true,
            ApplyTo::ClassicQueues => kind == QueueKind::Classic,
            ApplyTo::QuorumQueues => kind == QueueKind::Quorum,
            ApplyTo::Exchanges | ApplyTo::Streams => false,
        }
    }
}

impl FromStr for ApplyTo {
    type Err = PolicyError;

    fn from_str(name: &str) -> Result<ApplyTo, PolicyError> {
        ApplyTo::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
            PolicyError::new(format!(
                "apply-to '{name}' unrecognised; should be one of: 'queues', 'classic_queues', 'quorum_queues', \
                 'streams', 'exchanges', or 'all'"
            ))
        })
    }
}

/// A fault of a policy. Shown, the error is the reason that RabbitMQ's HTTP API gives, where that API does not
/// escape it for HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    reason: String,
}

impl PolicyError {
    pub(super) fn new(reason: impl Into<String>) -> PolicyError {
        PolicyError { reason: reason.into() }
    }

    /// The reason alone, in one line.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Validation failed\n\n{}", self.reason)
    }
}

impl std::error::Error for PolicyError {}
