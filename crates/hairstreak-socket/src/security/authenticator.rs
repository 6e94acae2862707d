//! `Authenticator`: who decides about a client's credentials, at once or later.

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
    /// drives wait meanwhile. What takes long is for [`Authenticator::Deferred`]. A panic is a refusal.
    Callback(Box<Judge>),
    /// By the application, later: it is called as a callback is, and may keep the answer for another thread. The client
    /// waits, for as long as its handshake may take (`handshake_timeout_ms`).
    Deferred(Box<DeferredJudge>),
}

type Judge = dyn Fn(&Applicant) -> Verdict + Send + Sync;
type DeferredJudge = dyn Fn(Applicant, Answer) + Send + Sync;

/// The way back for the verdict on one client, from any thread. Without a verdict, dropped, it refuses.
pub struct Answer(Option<Box<dyn FnOnce(Verdict) + Send>>);

impl Answer {
    pub(crate) fn new(give: impl FnOnce(Verdict) + Send + 'static) -> Answer {
        Answer(Some(Box::new(give)))
    }

    /// Gives the verdict. A client that is gone meanwhile needs none. Takes the lock of the client's engine: not to be called
    /// under a lock that a thread in the middle of a socket call may wait for.
    pub fn give(mut self, verdict: Verdict) {
        if let Some(give) = self.0.take() {
            give(verdict);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(give) = self.0.take() {
            give(Verdict::Refuse);
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer(..)")
    }
}

impl Authenticator {
    /// An authenticator that calls `judge`; see [`Authenticator::Callback`] for what it may do.
    pub fn callback(judge: impl Fn(&Applicant) -> Verdict + Send + Sync + 'static) -> Authenticator {
        Authenticator::Callback(Box::new(judge))
    }

    /// An authenticator that calls `judge`, which has the verdict given by the [`Answer`]; see [`Authenticator::Deferred`].
    pub fn deferred(judge: impl Fn(Applicant, Answer) + Send + Sync + 'static) -> Authenticator {
        Authenticator::Deferred(Box::new(judge))
    }

    /// The verdict, if it can be had at once and under any lock.
    pub(crate) fn judge_at_once(&self, applicant: &Applicant) -> Option<Verdict> {
        match self {
            Authenticator::Table(table) => Some(table.judge(&applicant.credentials)),
            Authenticator::Callback(_) | Authenticator::Deferred(_) => None,
        }
    }

    /// Has the verdict given, now or later. Runs the application's code.
    pub(crate) fn judge(&self, applicant: Applicant, answer: Answer) {
        match self {
            Authenticator::Table(table) => answer.give(table.judge(&applicant.credentials)),
            Authenticator::Callback(judge) => {
                let verdict = catch_unwind(AssertUnwindSafe(|| judge(&applicant)));
                answer.give(verdict.unwrap_or(Verdict::Refuse));
            }
            Authenticator::Deferred(judge) => {
                // A panic drops the answer, or whoever has it gives it.
                let _ = catch_unwind(AssertUnwindSafe(|| judge(applicant, answer)));
            }
        }
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Authenticator::Table(table) => table.fmt(f),
            Authenticator::Callback(_) => f.write_str("Callback(..)"),
            Authenticator::Deferred(_) => f.write_str("Deferred(..)"),
        }
    }
}
