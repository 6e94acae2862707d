//! `Scope`: who gives a policy.

/// The givers of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Policies of users.
    User,
    /// Policies of operators, which limit those of users.
    Operator,
}
