//! `Follow`: a name that is looked up once a second, because its holder may come back at another endpoint.
//!
//! A name that is not found keeps its endpoint: a directory that was just restarted does not know it yet, and the
//! connection to its holder may be intact.

use std::sync::Arc;

use hairstreak_wire::directory::{Endpoint, Name, Reply, Request};

use super::client::{Client, Purpose};

/// Callback with the old and the new endpoint, in the client's thread. Returns whether the move succeeded. If not, it
/// is called again when the name still has a new endpoint a second later.
type Move = Arc<dyn Fn(&Endpoint, &Endpoint) -> bool + Send + Sync>;

/// State that the client's thread needs to follow a name.
pub(super) struct Followed {
    name: Name,
    endpoint: Endpoint,
    go: Move,
}

/// A followed name. The follow ends when this is dropped.
pub struct Follow {
    client: Arc<Client>,
    number: u64,
}

impl Follow {
    /// Follows a name that was found at `endpoint`.
    pub fn start(
        client: &Arc<Client>,
        name: &Name,
        endpoint: &Endpoint,
        go: impl Fn(&Endpoint, &Endpoint) -> bool + Send + Sync + 'static,
    ) -> Follow {
        let number = client.next_number();
        let followed = Followed { name: name.clone(), endpoint: endpoint.clone(), go: Arc::new(go) };
        client.state().followed.insert(number, followed);
        Follow { client: Arc::clone(client), number }
    }
}

/// Looks up every followed name.
pub(super) fn ask_for_followed(client: &Client) {
    let names: Vec<(u64, Name)> = {
        let state = client.state();
        state.followed.iter().map(|(number, followed)| (*number, followed.name.clone())).collect()
    };
    for (number, name) in names {
        client.send(Purpose::Follow, number, &Request::Lookup { name, wait_ms: 0 });
    }
}

/// Handles the reply for a followed name.
pub(super) fn handle_followed(client: &Client, number: u64, reply: Reply) {
    let Reply::Found { endpoint: to, .. } = reply else { return };
    let (from, go) = match client.state().followed.get(&number) {
        Some(followed) if followed.endpoint != to => (followed.endpoint.clone(), Arc::clone(&followed.go)),
        _ => return,
    };
    // The callee takes the lock of an engine. The lock of the client is not held meanwhile.
    if go(&from, &to)
        && let Some(followed) = client.state().followed.get_mut(&number)
    {
        followed.endpoint = to;
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if self.client.is_forked() {
            return;
        }
        // The entry is taken out first: its drop may take other locks.
        let followed = self.client.state().followed.remove(&self.number);
        drop(followed);
    }
}
