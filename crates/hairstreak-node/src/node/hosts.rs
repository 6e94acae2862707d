//! `Hosts`: the virtual hosts by name. They come and go while the node runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::shared_host::SharedHost;
use super::totals::{Past, Totals};

/// The virtual hosts by name.
#[derive(Default)]
pub struct Hosts {
    by_name: RwLock<BTreeMap<Box<str>, Arc<SharedHost>>>,
    /// To be held while a host moves from the one to the other, and while both are summed.
    past: Arc<Mutex<Past>>,
}

impl Hosts {
    pub fn find(&self, name: &str) -> Option<Arc<SharedHost>> {
        self.by_name.read().get(name).cloned()
    }

    /// All hosts that there are now, by name.
    pub fn all(&self) -> Vec<Arc<SharedHost>> {
        self.by_name.read().values().cloned().collect()
    }

    /// Adds a host. Returns false, and keeps the existing host, if the name is taken.
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
        let mut past = self.past.lock();
        let host = self.by_name.write().remove(name)?;
        host.delete(&self.past, &mut past);
        Some(host)
    }

    /// Returns the counters of all hosts, deleted ones included. Visits each queue.
    pub fn totals(&self) -> Totals {
        let past = self.past.lock();
        let mut sum = past.sum();
        let hosts = self.all();
        hosts.iter().for_each(|host| sum += host.totals());
        drop(past);
        // A host whose last reference is here adds its counters to the past now.
        drop(hosts);
        sum
    }
}
