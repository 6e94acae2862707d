//! `Follow`: a name that is asked for once a second, in case its holder came back elsewhere.
//!
//! A name that is not found stays where it was: a directory that was just restarted does not know
//! it yet, and the connection to its holder may be well.

use std::sync::Arc;

use hairstreak_wire::directory::{Endpoint, Name, Reply, Request};

use super::client::{Client, Purpose};

/// Called with the endpoint to leave and the one to go to, in the client's thread. Returns whether it went; if not, it
/// is called again when the name is still elsewhere a second later.
type Move = Arc<dyn Fn(&Endpoint, &Endpoint) -> bool + Send + Sync>;

/// What the client's thread needs to follow a name.
pub(super) struct Followed {
    name: Name,
    endpoint: Endpoint,
    go: Move,
}

/// A followed name, until this is dropped.
pub struct Follow {
    client: Arc<Client>,
    number: u64,
}

impl Client {
    /// Follows a name that was found at `endpoint`.
    pub fn follow(
        self: &Arc<Client>,
        name: &Name,
        endpoint: &Endpoint,
        go: impl Fn(&Endpoint, &Endpoint) -> bool + Send + Sync + 'static,
    ) -> Follow {
        let number = self.next_number();
        let followed = Followed { name: name.clone(), endpoint: endpoint.clone(), go: Arc::new(go) };
        self.state().followed.insert(number, followed);
        Follow { client: Arc::clone(self), number }
    }

    /// Asks where every followed name is.
    pub(super) fn ask_for_followed(&self) {
        let names: Vec<(u64, Name)> = {
            let state = self.state();
            state.followed.iter().map(|(number, followed)| (*number, followed.name.clone())).collect()
        };
        for (number, name) in names {
            self.send(Purpose::Follow, number, &Request::Lookup { name, wait_ms: 0 });
        }
    }

    /// Where a followed name is.
    pub(super) fn handle_followed(&self, number: u64, reply: Reply) {
        let Reply::Found { endpoint: to, .. } = reply else { return };
        let (from, go) = match self.state().followed.get(&number) {
            Some(followed) if followed.endpoint != to => {
                (followed.endpoint.clone(), Arc::clone(&followed.go))
            }
            _ => return,
        };
        // The callee takes an engine's lock; ours is not held meanwhile.
        if go(&from, &to)
            && let Some(followed) = self.state().followed.get_mut(&number)
        {
            followed.endpoint = to;
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if self.client.is_forked() {
            return;
        }
        // Taken out first: what it drops may take locks of its own.
        let followed = self.client.state().followed.remove(&self.number);
        drop(followed);
    }
}
