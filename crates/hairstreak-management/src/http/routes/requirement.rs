//! `Requirement`: the tags that a route asks for.
//!
//! `administrator` may everything. `monitoring` reads everything. `policymaker` and `management` see their own virtual hosts; `policymaker` also changes
//! policies and parameters there. A user without any of these has no access by HTTP. Tags never widen the permissions of AMQP.

use hairstreak_node::access::Tags;

use crate::http::error::ApiError;

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
    /// Any tag, and permissions in the virtual host, whatever the tag.
    Permissions,
    /// The tag `policymaker`, and access to the virtual host.
    Policies,
    /// The tag `policymaker`.
    GlobalParameters,
}

impl Requirement {
    /// Fails unless the user meets the requirement. `enters`: the user has permissions in the virtual host of the path; true where the path names none, or one that
    /// does not exist.
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
