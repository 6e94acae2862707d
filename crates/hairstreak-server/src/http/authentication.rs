//! HTTP Basic authentication (RFC 7617): whoever sends a request.

use std::future::Future;
use std::net::SocketAddr;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::error::ApiError;

/// Clients that leave the padding out are understood.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Bytes of credentials in base64.
const CREDENTIALS_SIZE_MAX: usize = 4096;

/// A name and a password, not verified.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: String,
}

/// A user that has proved who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: String,
    /// Such as `administrator`.
    pub(crate) tags: Vec<String>,
}

/// Why credentials are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// There is no such user, or the password is wrong.
    WrongCredentials,
    /// The user may log in from the node's own host only.
    NotLoopback,
}

/// Verifies credentials. Verification takes long by design, and so runs on another thread.
pub(crate) trait Authenticator {
    /// The user of these credentials, at a client of that address.
    fn authenticate(
        &self,
        credentials: &Credentials,
        peer: SocketAddr,
    ) -> impl Future<Output = Result<Identity, Denied>>;
}

impl Credentials {
    /// Reads the header `Authorization`.
    ///
    /// # Errors
    ///
    /// 400: the scheme is not Basic, or the rest is no name and password in base64 and UTF-8.
    pub(crate) fn parse(header: &str) -> Result<Credentials, ApiError> {
        let malformed = || ApiError::bad_request("the header Authorization is not HTTP Basic");
        let (scheme, encoded) = header.trim().split_once(' ').ok_or_else(malformed)?;
        if !scheme.eq_ignore_ascii_case("basic") || encoded.len() > CREDENTIALS_SIZE_MAX {
            return Err(malformed());
        }
        let decoded = BASE64.decode(encoded.trim()).map_err(|_| malformed())?;
        let text = String::from_utf8(decoded).map_err(|_| malformed())?;
        let (user, password) = text.split_once(':').ok_or_else(malformed)?;
        Ok(Credentials { user: user.into(), password: password.into() })
    }
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> ApiError {
        match denied {
            Denied::WrongCredentials => ApiError::wrong_credentials(),
            Denied::NotLoopback => ApiError::not_authorised("User can only log in via localhost"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, expected: Option<(&str, &str)>) {
        let parsed = Credentials::parse(header).ok();
        let parsed = parsed.as_ref().map(|credentials| (&*credentials.user, &*credentials.password));
        assert_eq!(parsed, expected, "{header}");
    }

    #[test]
    fn credentials_are_a_name_and_a_password() {
        check("Basic Z3Vlc3Q6Z3Vlc3Q=", Some(("guest", "guest")));
        check("basic  Z3Vlc3Q6Z3Vlc3Q", Some(("guest", "guest")));
        check("Basic Z3Vlc3Q6YTpiw6Q=", Some(("guest", "a:b\u{e4}")));
        check("Basic Og==", Some(("", "")));
    }

    #[test]
    fn other_schemes_and_malformed_credentials_are_refused() {
        let long = format!("Basic {}", "Z".repeat(CREDENTIALS_SIZE_MAX + 4));
        for header in
            ["", "Basic", "Basic !!!", "Bearer Z3Vlc3Q6Z3Vlc3Q=", "Basic Z3Vlc3Q=", "Basic /zr/", &long]
        {
            check(header, None);
        }
    }
}
