//! The names of the mechanisms, as the greeting has them.

/// No security.
pub(in crate::zmtp) const NULL: &str = "NULL";
/// A name and a password in the clear.
pub(in crate::zmtp) const PLAIN: &str = "PLAIN";
/// Proved identities and encrypted traffic.
pub(in crate::zmtp) const CURVE: &str = "CURVE";
