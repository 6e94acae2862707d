//! `Endpoint`: the address for connections to the holder of a name. It is opaque except for two checks: it has the
//! form `transport://address`, and a tcp address is not a wildcard.

use std::fmt;

use super::field::{self, FieldError};

/// The longest endpoint, in bytes.
pub const ENDPOINT_SIZE_MAX: usize = 512;

/// An endpoint that obeys the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Box<str>);

impl Endpoint {
    /// Checks and copies `text`.
    pub fn new(text: &str) -> Result<Endpoint, FieldError> {
        Endpoint::decode(text.as_bytes())
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Endpoint, FieldError> {
        let text = field::some_text("endpoint", bytes, ENDPOINT_SIZE_MAX)?;
        match text.split_once("://") {
            Some((transport, address)) if !transport.is_empty() && !address.is_empty() => {
                if transport == "tcp" && is_wildcard(address) {
                    return Err(FieldError::Wildcard { text: text.to_owned() });
                }
                Ok(Endpoint(text.into()))
            }
            _ => Err(FieldError::NotAnEndpoint { text: text.to_owned() }),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a tcp address has no specific host or port.
fn is_wildcard(address: &str) -> bool {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    matches!(host, "" | "*" | "0.0.0.0" | "[::]" | "::") || matches!(port, "" | "*" | "0")
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
