//! `ClientError`: why the broker did not do what it was asked.

use std::io;

use hairstreak_transport::ResolveError;
use hairstreak_wire::amqp::{DecodeError, FrameError};
use thiserror::Error;

/// Why the broker did not do what it was asked.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(
        "cannot connect to {0}: {1}; is a broker running there? `hairstreak serve` starts one, --url or AMQP_URL names another"
    )]
    Connect(String, io::Error),
    #[error("no TLS with {place}: {}", tls_reason(error))]
    Tls { place: String, error: io::Error },
    #[error("{0} does not speak AMQP 0-9-1")]
    Protocol(String),
    #[error("the broker has no login with user and password, only {0}")]
    Mechanism(String),
    #[error(
        "the broker ended the connection during login: the user, the password or the virtual host may be wrong"
    )]
    Login,
    #[error("no answer for {seconds} s to {method}")]
    Silence { method: &'static str, seconds: u64 },
    /// In the broker's words.
    #[error("{0}")]
    ChannelClosed(String),
    /// In the broker's words.
    #[error("{0}; the broker closed the connection")]
    ConnectionClosed(String),
    #[error("the broker is gone: the connection has ended")]
    Ended,
    #[error("the connection is broken: {0}")]
    Broken(#[from] io::Error),
    #[error("the broker sent a malformed frame: {0}")]
    Frame(#[from] FrameError),
    #[error("the broker sent a malformed method: {0}")]
    Decode(#[from] DecodeError),
    #[error("the broker sent {0}, which cannot come here")]
    Unexpected(&'static str),
    #[error("the broker announced a message of {0} bytes, more than memory holds")]
    TooLarge(u64),
}

/// The reason, and what may help.
fn tls_reason(error: &io::Error) -> String {
    let reason = error.to_string();
    let help = [
        ("none of the CA roots", "give the roots of this broker's certificate by --ca FILE"),
        ("is that of a CA", "give that certificate itself by --ca FILE"),
        ("does not speak TLS", "this may be the port of amqp://"),
        (
            "certificate_required",
            "the broker wants to see a certificate: --certificate FILE --certificate-key FILE",
        ),
    ];
    let help = help.into_iter().find(|(part, _)| reason.contains(part));
    help.map_or(reason.clone(), |(_, help)| format!("{reason}; {help}"))
}
