//! Authorization: the login of a request, and the tags that a route asks for.
//!
//! - `Credentials`: HTTP Basic authentication (RFC 7617)
//! - `Requirement`: the tags. `administrator` may everything. `monitoring` reads everything. `policymaker` and `management` see their own virtual hosts; `policymaker`
//!   also changes policies and parameters there. A user without any of these has no access by HTTP. Tags never widen the permissions of AMQP.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hairstreak_node::access::{Identity, Login, LoginError, Peer, Protocol, Tags};
use hairstreak_node::node::Node;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use super::error::ApiError;

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

/// The rights that a route asks for, as RabbitMQ does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Nothing, not even credentials. A node with `require_login` asks for the same as `Management`.
    Nothing,
    /// Any tag that gives access.
    Management,
    /// The tag `monitoring`.
    Monitoring,
    /// The tag `administrator`.
    Administrator,
    /// Any tag, and access to the virtual host.
    VirtualHost,
    /// Any tag with access to the virtual host, or the tag `monitoring`.
    SeenVirtualHost,
    /// Any tag, and permissions in the virtual host. Every tag needs the permissions.
    Permissions,
    /// The tag `policymaker`, and access to the virtual host.
    Policies,
    /// The tag `policymaker`.
    GlobalParameters,
}

impl Requirement {
    /// Fails unless the user meets the requirement. `enters`: the user has permissions in the virtual host of the path. A path without a
    /// virtual host, or with one that does not exist, counts as entered.
    ///
    /// # Errors
    ///
    /// 401 with RabbitMQ's words.
    pub(crate) fn check(self, tags: &Tags, enters: impl FnOnce() -> bool) -> Result<(), ApiError> {
        if !tags.may_manage() {
            return Err(ApiError::not_authorised("Not management user"));
        }
        let (is_met, words) = match self {
            Requirement::Nothing | Requirement::Management => (true, ""),
            Requirement::Monitoring => (tags.may_monitor(), "Not monitor user"),
            Requirement::Administrator => (tags.may_administer(), "Not administrator user"),
            Requirement::VirtualHost => {
                (tags.may_administer() || enters(), "User not authorised to access virtual host")
            }
            Requirement::SeenVirtualHost => {
                (tags.may_monitor() || enters(), "User not authorised to access virtual host")
            }
            Requirement::Permissions => (enters(), "User not authorised to access virtual host"),
            Requirement::Policies => {
                let is_met = tags.may_administer() || tags.may_set_policies() && enters();
                (is_met, "User not authorised to access object")
            }
            Requirement::GlobalParameters => {
                (tags.may_set_policies(), "User not authorised to access object")
            }
        };
        if is_met { Ok(()) } else { Err(ApiError::not_authorised(words)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_header(header: &str, expected: Option<(&str, &str)>) {
        let parsed = Credentials::parse(header).ok();
        let parsed = parsed.as_ref().map(|credentials| (credentials.name(), credentials.password()));
        assert_eq!(parsed, expected, "{header}");
    }

    #[test]
    fn credentials_are_a_name_and_a_password() {
        check_header("Basic Z3Vlc3Q6Z3Vlc3Q=", Some(("guest", "guest")));
        check_header("basic  Z3Vlc3Q6Z3Vlc3Q", Some(("guest", "guest")));
        check_header("Basic Z3Vlc3Q6YTpiw6Q=", Some(("guest", "a:b\u{e4}")));
        check_header("Basic Og==", Some(("", "")));
    }

    #[test]
    fn other_schemes_and_malformed_credentials_are_refused() {
        let long = format!("Basic {}", "Z".repeat(CREDENTIALS_SIZE_MAX + 4));
        for header in
            ["", "Basic", "Basic !!!", "Bearer Z3Vlc3Q6Z3Vlc3Q=", "Basic Z3Vlc3Q=", "Basic /zr/", &long]
        {
            check_header(header, None);
        }
        let error = Credentials::parse("Bearer Z3Vlc3Q6Z3Vlc3Q=").err();
        assert_eq!(error, Some(ApiError::wrong_credentials()));
    }

    const TAGS: [&str; 5] = ["", "management", "policymaker", "monitoring", "administrator"];

    /// `allowed`: for each of [`TAGS`] whether a user with the tag may pass, with access to the virtual host and without.
    #[track_caller]
    fn check(requirement: Requirement, allowed: [(bool, bool); 5]) {
        for (tag, allowed) in TAGS.iter().zip(allowed) {
            let tags = Tags::from_names([*tag, "other"]).unwrap();
            let passes = |enters| requirement.check(&tags, || enters).is_ok();
            assert_eq!((passes(true), passes(false)), allowed, "{requirement:?} {tag}");
        }
    }

    /// The answers of RabbitMQ 3.10.8.
    #[test]
    fn tags_give_what_they_give_in_rabbitmq() {
        const NO: (bool, bool) = (false, false);
        const YES: (bool, bool) = (true, true);
        const INSIDE: (bool, bool) = (true, false);
        check(Requirement::Management, [NO, YES, YES, YES, YES]);
        check(Requirement::Monitoring, [NO, NO, NO, YES, YES]);
        check(Requirement::Administrator, [NO, NO, NO, NO, YES]);
        check(Requirement::VirtualHost, [NO, INSIDE, INSIDE, INSIDE, YES]);
        check(Requirement::SeenVirtualHost, [NO, INSIDE, INSIDE, YES, YES]);
        check(Requirement::Permissions, [NO, INSIDE, INSIDE, INSIDE, INSIDE]);
        check(Requirement::Policies, [NO, NO, INSIDE, NO, YES]);
        check(Requirement::GlobalParameters, [NO, NO, YES, NO, YES]);
    }
}
