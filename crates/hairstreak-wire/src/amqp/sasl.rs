//! SASL: how a client says who it is. PLAIN (RFC 4616) and AMQPLAIN, RabbitMQ's other mechanism with a password.
//!
//! ```text
//! PLAIN      0 | user | 0 | password
//! AMQPLAIN   the fields LOGIN and PASSWORD of a field table, which comes without its size
//! ```
//!
//! As in RabbitMQ a client cannot act for another user: what PLAIN has before its first zero is empty.

use std::fmt;

use super::error::DecodeError;
use super::field::{FieldTable, Fields};

const LOGIN: &str = "LOGIN";
const PASSWORD: &str = "PASSWORD";

/// A mechanism with a user's name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// PLAIN
    Plain,
    /// AMQPLAIN
    Amqplain,
}

/// A user's name and password, where the response has them.
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
    /// The name in connection.start and connection.start-ok.
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::Amqplain => "AMQPLAIN",
        }
    }

    /// The mechanism with that name.
    pub fn from_name(name: &[u8]) -> Option<Mechanism> {
        [Mechanism::Plain, Mechanism::Amqplain]
            .into_iter()
            .find(|mechanism| mechanism.name().as_bytes() == name)
    }

    /// Decodes a response.
    pub fn decode(self, response: &[u8]) -> Result<Credentials<'_>, DecodeError> {
        let credentials = match self {
            Mechanism::Plain => decode_plain(response),
            Mechanism::Amqplain => decode_amqplain(response)?,
        };
        credentials.ok_or(DecodeError::Response { mechanism: self.name() })
    }

    /// The response that says `credentials`. PLAIN cannot say a name or a password with a zero byte in it.
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
