//! `Permissions`: the permissions of users at the directory. A user with configure permission may register a name and
//! release it. A user with any permission for a name may look it up and see it in lists.

use std::collections::HashMap;
use std::time::Duration;

use hairstreak_wire::directory::{ErrorCode, Name, Reply, Request};

use super::Peer;
use crate::gate::{Gate, Operation};

/// Names that are checked for the lists of one user in a second: four times the most names of the directory. Each check
/// costs a comparison with patterns, even for a hidden name.
const LISTED_NAMES_MAX: usize = 65_536;
const LISTED_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Permissions {
    gate: Box<dyn Gate>,
    /// Names checked for the lists of each user since `listed_since`.
    listed: HashMap<Box<str>, usize>,
    listed_since: Duration,
}

/// Names that a peer may see in one list.
pub(super) struct View<'a> {
    gate: &'a dyn Gate,
    /// `None`: the peer sees all names.
    user: Option<(&'a str, &'a mut usize)>,
}

impl Permissions {
    pub fn new(gate: Box<dyn Gate>) -> Permissions {
        Permissions { gate, listed: HashMap::new(), listed_since: Duration::ZERO }
    }

    /// Returns the refusal if the peer may not make that request.
    pub fn refuse(&self, peer: &Peer, request: &Request) -> Option<Reply> {
        match request {
            Request::Register(registration) => self.refuse_to_configure(peer, &registration.name),
            Request::Unregister { name, .. } => self.refuse_to_configure(peer, name),
            Request::Lookup { name, .. } => self.refuse_look_up(peer, name),
            // A list shows only permitted names.
            Request::List { .. } | Request::Ping => None,
        }
    }

    fn refuse_to_configure(&self, peer: &Peer, name: &Name) -> Option<Reply> {
        let user = self.gate.user(&peer.routing_id)?;
        let may = self.gate.allows(user, Operation::Configure, name.as_str().as_bytes());
        (!may).then(|| refused("the user may not register this name: that needs configure permission for it"))
    }

    /// Returns the refusal if the peer may not see the name.
    pub fn refuse_look_up(&self, peer: &Peer, name: &Name) -> Option<Reply> {
        let user = self.gate.user(&peer.routing_id)?;
        let may = self.gate.shows(user, name.as_str().as_bytes());
        (!may).then(|| refused("the user may not look this name up: that needs some permission for it"))
    }

    /// Returns the view of the peer for one list.
    pub fn view<'a>(&'a mut self, now: Duration, peer: &'a Peer) -> View<'a> {
        if now >= self.listed_since + LISTED_INTERVAL {
            self.listed_since = now;
            self.listed.clear();
        }
        let user = self.gate.user(&peer.routing_id);
        let user = user.map(|user| (user, self.listed.entry(user.into()).or_default()));
        View { gate: &*self.gate, user }
    }
}

impl View<'_> {
    /// Returns whether the peer sees the name. Always false once the share of the user is used up.
    pub fn shows(&mut self, name: &Name) -> bool {
        let Some((user, listed)) = &mut self.user else { return true };
        **listed = listed.saturating_add(1);
        **listed <= LISTED_NAMES_MAX && self.gate.shows(user, name.as_str().as_bytes())
    }

    /// Returns the refusal of the list if the share of the user is used up.
    pub fn refusal(self) -> Option<Reply> {
        let (_, listed) = self.user?;
        let text = "as many names were looked at for this user's lists as may be in a second";
        (*listed > LISTED_NAMES_MAX).then(|| Reply::error(ErrorCode::Limit, text))
    }
}

fn refused(text: &str) -> Reply {
    Reply::error(ErrorCode::AccessRefused, text)
}
