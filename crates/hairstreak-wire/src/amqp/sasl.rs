//! SASL: the authentication of a client.
//!
//! - With a password: PLAIN (RFC 4616) and AMQPLAIN, RabbitMQ's own mechanism.
//! - With the client certificate of TLS: EXTERNAL (RFC 4422, appendix A).
//! - Without a proof: ANONYMOUS (RFC 4505).
//!
//! ```text
//! PLAIN      0 | user | 0 | password
//! AMQPLAIN   the fields LOGIN and PASSWORD of a field table without its size
//! EXTERNAL   the user that the client wants to act for, or nothing
//! ANONYMOUS  a trace of the client, for example a mail address, or nothing
//! ```
//!
//! As in RabbitMQ, a client cannot act for another user: the authorization id of PLAIN, before its first zero, has to
//! be empty. A broker ignores the response of EXTERNAL: in RabbitMQ 3.10 the certificate alone determines the user. A
//! trace proves nothing.

use std::fmt;

use super::error::DecodeError;
use super::field::{FieldTable, Fields};

const LOGIN: &str = "LOGIN";
const PASSWORD: &str = "PASSWORD";

/// A mechanism of RabbitMQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// PLAIN, with a password.
    Plain,
    /// AMQPLAIN, with a password.
    Amqplain,
    /// EXTERNAL, with the client certificate of TLS. RabbitMQ offers it on all TLS connections and on no others, even
    /// to a client without a certificate. Such a client is rejected if it prefers EXTERNAL.
    External,
    /// ANONYMOUS, without a proof. RabbitMQ supports it since 4.0.
    Anonymous,
}

/// The login of a client, by any mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login<'a> {
    /// PLAIN and AMQPLAIN: the user's name and password.
    Password(Credentials<'a>),
    /// EXTERNAL: the connection's client certificate names the user.
    External {
        /// The user that the client wants to act for; mostly empty.
        identity: &'a [u8],
    },
    /// ANONYMOUS: the broker chooses the user.
    Anonymous {
        /// The client's trace, unchecked; mostly empty.
        trace: &'a [u8],
    },
}

/// A user's name and password, borrowed from the response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// The name of the user.
    pub user: &'a [u8],
    /// The password.
    pub password: &'a [u8],
}

impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials of {:?}", String::from_utf8_lossy(self.user))
    }
}

impl Mechanism {
    /// All mechanisms.
    pub const ALL: [Mechanism; 4] =
        [Mechanism::Plain, Mechanism::Amqplain, Mechanism::External, Mechanism::Anonymous];

    /// Returns the name in connection.start and connection.start-ok.
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::Amqplain => "AMQPLAIN",
            Mechanism::External => "EXTERNAL",
            Mechanism::Anonymous => "ANONYMOUS",
        }
    }

    /// Returns the mechanism with that name.
    pub fn from_name(name: &[u8]) -> Option<Mechanism> {
        Mechanism::ALL.into_iter().find(|mechanism| mechanism.name().as_bytes() == name)
    }

    /// Returns whether the response has a name and a password.
    pub const fn has_password(self) -> bool {
        matches!(self, Mechanism::Plain | Mechanism::Amqplain)
    }

    /// Decodes a response.
    ///
    /// Errors: a response of PLAIN or AMQPLAIN is malformed.
    pub fn login(self, response: &[u8]) -> Result<Login<'_>, DecodeError> {
        let credentials = match self {
            Mechanism::Plain => decode_plain(response),
            Mechanism::Amqplain => decode_amqplain(response)?,
            Mechanism::External => return Ok(Login::External { identity: response }),
            Mechanism::Anonymous => return Ok(Login::Anonymous { trace: response }),
        };
        credentials.map(Login::Password).ok_or(DecodeError::Response { mechanism: self.name() })
    }

    /// Decodes a response with a password.
    ///
    /// Errors: those of [`Mechanism::login`]; the mechanism has no password.
    pub fn decode(self, response: &[u8]) -> Result<Credentials<'_>, DecodeError> {
        match self.login(response)? {
            Login::Password(credentials) => Ok(credentials),
            _ => Err(DecodeError::Response { mechanism: self.name() }),
        }
    }

    /// Returns the response with `credentials`, empty for a mechanism without a password. PLAIN cannot encode a name
    /// or a password with a zero byte.
    pub fn encode(self, credentials: Credentials<'_>) -> Vec<u8> {
        let Credentials { user, password } = credentials;
        let mut response = Vec::new();
        match self {
            Mechanism::Plain => {
                response.push(0);
                response.extend_from_slice(user);
                response.push(0);
                response.extend_from_slice(password);
            }
            Mechanism::Amqplain => {
                FieldTable::from_iter([(LOGIN, user), (PASSWORD, password)]).encode_fields(&mut response);
            }
            Mechanism::External | Mechanism::Anonymous => {}
        }
        response
    }
}

fn decode_plain(response: &[u8]) -> Option<Credentials<'_>> {
    let mut parts = response.split(|&byte| byte == 0);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(b""), Some(user), Some(password), None) => Some(Credentials { user, password }),
        _ => None,
    }
}

fn decode_amqplain(response: &[u8]) -> Result<Option<Credentials<'_>>, DecodeError> {
    let (mut user, mut password) = (None, None);
    for field in Fields::new(response) {
        let field = field?;
        let credential = match field.name {
            b"LOGIN" => &mut user,
            b"PASSWORD" => &mut password,
            _ => continue,
        };
        *credential = credential.or(field.as_bytes());
    }
    Ok(user.zip(password).map(|(user, password)| Credentials { user, password }))
}
