//! `State`: the registry behind its lock, and the generation that shows changes.
//!
//! Event loops read under the lock for a moment: at a login, and once for each virtual host in use after a change. Nothing is
//! hashed or compiled under the lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::pattern::PatternTable;
use super::registry::Registry;
use super::usage::Usage;
use super::virtual_host_permissions::VirtualHostPermissions;

/// The part that all logins and connections share.
#[derive(Debug, Default)]
pub(super) struct State {
    registry: RwLock<Registry>,
    generation: AtomicU64,
    /// Held while a virtual host is created or removed. A host is created again only after all permissions for the old one are
    /// removed.
    pub host_changes: Mutex<()>,
    pub patterns: PatternTable,
}

impl State {
    /// The number of changes so far. Written under the lock, so that a thread that sees the number and then reads the registry reads
    /// at least that change.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    pub fn read<T>(&self, look: impl FnOnce(&Registry) -> T) -> T {
        look(&self.registry.read())
    }

    /// Changes the registry. Unless the change fails, answers to earlier checks count no longer.
    pub fn change<T, E>(&self, change: impl FnOnce(&mut Registry) -> Result<T, E>) -> Result<T, E> {
        let mut registry = self.registry.write();
        let done = change(&mut registry);
        if done.is_ok() {
            self.generation.fetch_add(1, Ordering::Release);
        }
        done
    }

    /// Changes something that no answer to a check depends on.
    pub fn note<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        change(&mut self.registry.write())
    }

    /// The user's permissions for a virtual host, and the generation they are of. None without a row, or if the user that `usage`
    /// is of was deleted. With a client id they are compiled anew, else shared by all connections that use them.
    pub fn permissions(
        &self,
        usage: &Arc<Usage>,
        virtual_host: &str,
        client_id: Option<&[u8]>,
    ) -> (u64, Option<Arc<VirtualHostPermissions>>) {
        let registry = self.registry.read();
        let generation = self.generation();
        let record = registry.user_of(usage).filter(|_| registry.has_virtual_host(virtual_host));
        let Some(record) = record else { return (generation, None) };
        if client_id.is_none()
            && let Some(compiled) = record.compiled(virtual_host)
        {
            return (generation, Some(compiled));
        }
        let Some((permission, topics)) = record.rows(virtual_host) else { return (generation, None) };
        drop(registry);

        let compiled = VirtualHostPermissions::compile(&permission, &topics, client_id, &self.patterns);
        let compiled = Arc::new(compiled);
        let registry = self.registry.read();
        if client_id.is_none()
            && self.generation() == generation
            && let Some(record) = registry.user_of(usage)
        {
            record.set_compiled(virtual_host, &compiled);
        }
        (generation, Some(compiled))
    }
}
