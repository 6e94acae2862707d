//! `Hosts`: the virtual hosts by name. They come and go while the node runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::shared_host::SharedHost;

/// The virtual hosts by name.
#[derive(Default)]
pub(crate) struct Hosts {
    by_name: RwLock<BTreeMap<Box<str>, Arc<SharedHost>>>,
}

impl Hosts {
    pub fn find(&self, name: &str) -> Option<Arc<SharedHost>> {
        self.by_name.read().get(name).cloned()
    }

    /// All hosts that there are now, by name.
    pub fn all(&self) -> Vec<Arc<SharedHost>> {
        self.by_name.read().values().cloned().collect()
    }

    /// Adds a host. Returns false, and keeps the host that is there, if there is one of that name.
    pub fn add(&self, host: SharedHost) -> bool {
        let mut by_name = self.by_name.write();
        if by_name.contains_key(host.name()) {
            return false;
        }
        by_name.insert(host.name().into(), Arc::new(host));
        true
    }

    /// Takes a host out. Its connections keep the host until they have left.
    pub fn remove(&self, name: &str) -> Option<Arc<SharedHost>> {
        self.by_name.write().remove(name)
    }
}
