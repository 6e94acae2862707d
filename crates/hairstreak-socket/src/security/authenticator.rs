//! `Authenticator`: who decides about a client's credentials.

use std::fmt;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hairstreak_wire::zmtp::{Credentials, Verdict};

use super::access::AccessTable;

/// A client that wants to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applicant {
    /// Who it says it is; for CURVE it has proved it.
    pub credentials: Credentials,
    /// Its address (tcp).
    pub remote: Option<SocketAddr>,
    /// The endpoint bound or connected that it came by.
    pub endpoint: String,
}

/// Decides about clients.
pub enum Authenticator {
    /// By a table that does not change.
    Table(AccessTable),
    /// By the application. It is called once for each handshake, by whichever thread drives the socket, without a
    /// lock held: it may use sockets, this one too. It **must not block**: the other connections that this thread
    /// drives wait meanwhile. What takes long is looked up beforehand, or answered with
    /// [`Verdict::TryLater`] the first time. A panic is a refusal.
    Callback(Box<Judge>),
}

type Judge = dyn Fn(&Applicant) -> Verdict + Send + Sync;

impl Authenticator {
    /// An authenticator that calls `judge`; see [`Authenticator::Callback`] for what it may do.
    pub fn callback(judge: impl Fn(&Applicant) -> Verdict + Send + Sync + 'static) -> Authenticator {
        Authenticator::Callback(Box::new(judge))
    }

    /// The verdict, if it can be had at once and under any lock.
    pub(crate) fn judge_at_once(&self, applicant: &Applicant) -> Option<Verdict> {
        match self {
            Authenticator::Table(table) => Some(table.judge(&applicant.credentials)),
            Authenticator::Callback(_) => None,
        }
    }

    /// The verdict. Runs the application's code.
    pub(crate) fn judge(&self, applicant: &Applicant) -> Verdict {
        match self {
            Authenticator::Table(table) => table.judge(&applicant.credentials),
            Authenticator::Callback(judge) => {
                catch_unwind(AssertUnwindSafe(|| judge(applicant))).unwrap_or(Verdict::Refuse)
            }
        }
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Authenticator::Table(table) => table.fmt(f),
            Authenticator::Callback(_) => f.write_str("Callback(..)"),
        }
    }
}
