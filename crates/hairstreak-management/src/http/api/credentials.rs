//! HTTP Basic authentication (RFC 7617): whoever sends a request.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hairstreak_node::access::{Identity, Login, LoginError, Peer, Protocol};
use hairstreak_node::node::Node;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::http::error::ApiError;

/// Clients that leave the padding out are understood.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Bytes of credentials in base64.
const CREDENTIALS_SIZE_MAX: usize = 4096;
/// The mechanism in the log.
const MECHANISM: &str = "HTTP Basic";

/// A name and a password, not verified.
pub(crate) struct Credentials {
    user: Zeroizing<String>,
    /// Bytes of `user` before the colon.
    name_size: usize,
}

impl Credentials {
    /// Reads the header `Authorization`.
    ///
    /// # Errors
    ///
    /// 401: the scheme is not Basic. 400: the rest is no name and password in base64 and UTF-8. RabbitMQ answers the same.
    pub(crate) fn parse(header: &str) -> Result<Credentials, ApiError> {
        let malformed = || ApiError::bad_request("the header Authorization is not HTTP Basic");
        let (scheme, encoded) = header.trim().split_once(' ').ok_or_else(malformed)?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(ApiError::wrong_credentials());
        }
        if encoded.len() > CREDENTIALS_SIZE_MAX {
            return Err(malformed());
        }
        let decoded = BASE64.decode(encoded.trim()).map_err(|_| malformed())?;
        let text = Zeroizing::new(String::from_utf8(decoded).map_err(|_| malformed())?);
        let name_size = text.find(':').ok_or_else(malformed)?;
        Ok(Credentials { user: text, name_size })
    }

    fn name(&self) -> &str {
        &self.user[..self.name_size]
    }

    fn password(&self) -> &str {
        &self.user[self.name_size + 1..]
    }

    /// The user of these credentials, at a client of that address, if `check` lets the user in. The verification of a password that was not right before takes
    /// tens of milliseconds on another thread. A refusal of the check counts as a failed login, as in RabbitMQ. The log has the reason of each refusal.
    ///
    /// # Errors
    ///
    /// 401, or 503 where too many logins wait.
    pub(crate) async fn verify(
        &self,
        node: &Node,
        address: SocketAddr,
        check: impl FnOnce(&Identity) -> Result<(), ApiError>,
    ) -> Result<Arc<Identity>, ApiError> {
        let (tell, told) = oneshot::channel();
        let answer = move |result| {
            // The client may be gone.
            let _ = tell.send(result);
        };
        let peer = Peer::at(address.ip());
        let result =
            match node.access.log_in(self.name().as_bytes(), self.password().as_bytes(), peer, answer) {
                Login::Now(result) => result,
                Login::Later => told.await.unwrap_or(Err(LoginError::TryLater)),
            };
        if let Err(error) = &result {
            node.refused_logins.tell(Some(address), MECHANISM, error);
        }
        let result = match result {
            Ok(identity) => check(&identity).map(|()| identity).inspect_err(|error| {
                let reason = format!("user '{}' - {}", self.name(), error.reason());
                node.refused_logins.tell(Some(address), MECHANISM, reason);
            }),
            Err(error @ LoginError::TryLater) => return Err(ApiError::unavailable(error.to_string())),
            Err(LoginError::LoopbackOnly { .. }) => {
                Err(ApiError::not_authorised("User can only log in via localhost"))
            }
            Err(_) => Err(ApiError::wrong_credentials()),
        };
        node.access.count_login(Protocol::Http, result.is_ok());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, expected: Option<(&str, &str)>) {
        let parsed = Credentials::parse(header).ok();
        let parsed = parsed.as_ref().map(|credentials| (credentials.name(), credentials.password()));
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
        let error = Credentials::parse("Bearer Z3Vlc3Q6Z3Vlc3Q=").err();
        assert_eq!(error, Some(ApiError::wrong_credentials()));
    }
}
