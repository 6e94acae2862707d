//! Authorization: the tags that a route asks for.
//!
//! `administrator` may everything. `monitoring` reads everything. `policymaker` and `management` see their own virtual hosts; `policymaker` also changes
//! policies and parameters there. A user without any of these has no access by HTTP. Tags never widen the permissions of AMQP.

use super::authentication::Identity;
use super::error::ApiError;

/// The rights that a route asks for, as RabbitMQ does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Nothing, not even credentials.
    Nothing,
    /// Any tag that gives access.
    Management,
    /// The tag `monitoring`.
    Monitoring,
    /// The tag `administrator`.
    Administrator,
    /// Any tag, and access to the virtual host.
    VirtualHost,
    /// The same; the tag `monitoring` has access to each.
    VisibleVirtualHost,
    /// The tag `policymaker`, and access to the virtual host.
    Policies,
    /// The tag `policymaker`.
    GlobalParameters,
}

impl Identity {
    fn has(&self, tags: &[&str]) -> bool {
        self.tags.iter().any(|tag| tags.contains(&&**tag))
    }

    pub(crate) fn is_administrator(&self) -> bool {
        self.has(&["administrator"])
    }

    /// Whether the user sees the connections, channels and virtual hosts of others.
    pub(crate) fn is_monitor(&self) -> bool {
        self.has(&["administrator", "monitoring"])
    }

    fn is_policymaker(&self) -> bool {
        self.has(&["administrator", "policymaker"])
    }

    fn has_access(&self) -> bool {
        self.has(&["administrator", "monitoring", "policymaker", "management"])
    }
}

impl Requirement {
    /// Fails unless the user meets the requirement. `enters`: the user has permissions in the virtual host of the path; true where the path names none, or one that
    /// does not exist.
    ///
    /// # Errors
    ///
    /// 401 with RabbitMQ's words.
    pub(crate) fn check(self, identity: &Identity, enters: impl FnOnce() -> bool) -> Result<(), ApiError> {
        if !identity.has_access() {
            return Err(ApiError::not_authorised("Not management user"));
        }
        let (is_met, words) = match self {
            Requirement::Nothing | Requirement::Management => (true, ""),
            Requirement::Monitoring => (identity.is_monitor(), "Not monitor user"),
            Requirement::Administrator => (identity.is_administrator(), "Not administrator user"),
            Requirement::VirtualHost => {
                (identity.is_administrator() || enters(), "User not authorised to access virtual host")
            }
            Requirement::VisibleVirtualHost => {
                (identity.is_monitor() || enters(), "User not authorised to access virtual host")
            }
            Requirement::Policies => {
                let is_met = identity.is_administrator() || identity.is_policymaker() && enters();
                (is_met, "User not authorised to access object")
            }
            Requirement::GlobalParameters => {
                (identity.is_policymaker(), "User not authorised to access object")
            }
        };
        if is_met { Ok(()) } else { Err(ApiError::not_authorised(words)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGS: [&str; 5] = ["", "management", "policymaker", "monitoring", "administrator"];

    /// `allowed`: for each of [`TAGS`] whether a user with the tag may pass, with access to the virtual host and without.
    #[track_caller]
    fn check(requirement: Requirement, allowed: [(bool, bool); 5]) {
        for (tag, allowed) in TAGS.iter().zip(allowed) {
            let identity = Identity { user: "u".into(), tags: vec![(*tag).into(), "other".into()] };
            let passes = |enters| requirement.check(&identity, || enters).is_ok();
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
        check(Requirement::VisibleVirtualHost, [NO, INSIDE, INSIDE, YES, YES]);
        check(Requirement::Policies, [NO, NO, INSIDE, NO, YES]);
        check(Requirement::GlobalParameters, [NO, NO, YES, NO, YES]);
    }
}
