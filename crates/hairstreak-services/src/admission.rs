//! `Admission`: the node's verdict on the last handshake of a socket.

use hairstreak_socket::monitor::{Event, EventKind, HandshakeFailure, Monitor};
use hairstreak_socket::security::Security;
use hairstreak_socket::{Pattern, Socket};

use crate::credentials::Credentials;

/// Status of a node that cannot decide now.
const TRY_LATER: u16 = 300;

/// Observer of the handshakes of one socket.
#[derive(Debug)]
pub struct Admission {
    /// `None`: the socket is closed and makes no further attempt.
    monitor: Option<Monitor>,
    security: Security,
    refusal: Option<String>,
}

impl Admission {
    /// Returns the admission of a socket with these credentials. The socket is connected later.
    pub fn of<P: Pattern>(socket: &Socket<P>, credentials: &Credentials) -> Admission {
        Admission { monitor: socket.monitor().ok(), security: credentials.security(), refusal: None }
    }

    /// Returns the reason of the last permanent refusal by the node. The socket keeps trying.
    pub fn refusal(&mut self) -> Option<&str> {
        while let Some(Ok(event)) = self.monitor.as_ref().map(Monitor::try_recv) {
            self.note(event);
        }
        self.refusal.as_deref()
    }

    fn note(&mut self, event: Event) {
        match event.kind {
            EventKind::HandshakeSucceeded => self.refusal = None,
            EventKind::HandshakeFailed { failure, reason } => {
                if let Some(refusal) = self.explain(failure, reason) {
                    self.refusal = Some(refusal);
                }
            }
            _ => {}
        }
    }

    /// Returns the text of a permanent refusal. `None`: another attempt may succeed.
    fn explain(&self, failure: HandshakeFailure, reason: String) -> Option<String> {
        let text = match (failure, &self.security) {
            (HandshakeFailure::Auth { status: TRY_LATER }, _) => return None,
            (HandshakeFailure::Auth { .. }, Security::Plain(_)) => {
                "the user name or the password is wrong, or the user may not log in from this host"
            }
            (HandshakeFailure::Auth { .. }, Security::Curve { .. }) => {
                "no user has this key, or the user may not log in from this host"
            }
            (HandshakeFailure::Auth { .. }, _) => "a user has to log in",
            (HandshakeFailure::Mechanism, Security::Plain(_)) => "no user can log in there by a password",
            (HandshakeFailure::Mechanism, Security::Curve { .. }) => "no user can log in there by a key",
            (HandshakeFailure::Mechanism, _) => "a user has to log in",
            (HandshakeFailure::Keys | HandshakeFailure::Refused, Security::Curve { .. }) => {
                return Some(format!("its key is another one: {reason}"));
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}
