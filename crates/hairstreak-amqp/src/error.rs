//! `ClientError`: errors of the connection and refusals of the broker.

use std::io;

use hairstreak_transport::ResolveError;
use hairstreak_wire::amqp::{DecodeError, FrameError};
use thiserror::Error;

/// An error of the connection, or a refusal of the broker.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The host name has no address.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// No connection to this place.
    #[error(
        "cannot connect to {0}: {1}; is a broker running there? `hairstreak serve` starts one, --url or AMQP_URL names another"
    )]
    Connect(String, io::Error),
    /// The two sides do not agree on TLS.
    #[error("no TLS with {place}: {}", tls_reason(error))]
    Tls {
        /// The broker.
        place: String,
        /// The reason.
        error: io::Error,
    },
    /// The server speaks another protocol.
    #[error("{0} does not speak AMQP 0-9-1")]
    Protocol(String),
    /// The broker offers only these mechanisms.
    #[error("the broker has no login with user and password, only {0}")]
    Mechanism(String),
    /// The broker ended the connection during the login.
    #[error(
        "the broker ended the connection during login: the user, the password or the virtual host may be wrong"
    )]
    Login,
    /// No answer in time.
    #[error("no answer for {seconds} s to {method}")]
    Silence {
        /// The method without an answer.
        method: &'static str,
        /// The time that the client waited.
        seconds: u64,
    },
    /// The broker closed the channel, for this reason.
    #[error("{0}")]
    ChannelClosed(String),
    /// The broker closed the connection, for this reason.
    #[error("{0}; the broker closed the connection")]
    ConnectionClosed(String),
    /// The connection has ended.
    #[error("the broker is gone: the connection has ended")]
    Ended,
    /// The connection failed.
    #[error("the connection is broken: {0}")]
    Broken(#[from] io::Error),
    /// A malformed frame.
    #[error("the broker sent a malformed frame: {0}")]
    Frame(#[from] FrameError),
    /// A malformed method.
    #[error("the broker sent a malformed method: {0}")]
    Decode(#[from] DecodeError),
    /// A frame that is not allowed at this point.
    #[error("the broker sent {0}, which cannot come here")]
    Unexpected(&'static str),
    /// A message that is larger than the address space.
    #[error("the broker announced a message of {0} bytes, more than memory holds")]
    TooLarge(u64),
}

/// Returns the reason and a possible remedy.
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
