//! Admission of a user to a virtual host: permissions, and the limits of the host and of the user.

use std::sync::Arc;

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::ReplyCode;

use super::rights::Rights;
use crate::access::{ConnectionSlot, Identity};
use crate::node::Node;

/// Admits a user to a virtual host. Returns what the user may do there, and the place among the connections of the user.
///
/// # Errors
///
/// `NOT_ALLOWED`: the user has no permission there, or the host or the user has as many connections as it may.
pub(super) fn admit(
    node: &Node,
    identity: &Arc<Identity>,
    virtual_host: &str,
) -> Result<(Rights, ConnectionSlot), Refusal> {
    let refuse = |text: String| Refusal::new(ReplyCode::NotAllowed, text);
    let refuse_access = |reason: &str| {
        let user = identity.user();
        refuse(format!("access to vhost '{virtual_host}' refused for user '{user}'{reason}"))
    };
    let rights = Rights::of(Arc::clone(identity), virtual_host).ok_or_else(|| refuse_access(""))?;
    if let Some(limit) = node.connection_limit(virtual_host) {
        return Err(refuse_access(&format!(": connection limit ({limit}) is reached")));
    }
    let slot = identity.take_connection().map_err(|error| refuse(error.to_string()))?;
    Ok((rights, slot))
}
