//! `Record`: a user with its permissions, usage and remembered login.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::access::credential_mac::CredentialMac;
use crate::access::resource::{Permission, TopicPermission};
use crate::access::usage::Usage;
use crate::access::user::{Revoked, User};
use crate::access::virtual_host_permissions::VirtualHostPermissions;

/// A user with its permissions and its open connections and channels.
#[derive(Debug)]
pub(in crate::access) struct Record {
    pub name: Arc<str>,
    pub user: User,
    /// A number that no other password has had, of this user or another.
    pub password_version: u64,
    /// The right name and password, once they were seen.
    remembered: Option<CredentialMac>,
    pub usage: Arc<Usage>,
    /// By virtual host.
    pub(super) permissions: BTreeMap<Box<str>, PermissionRow>,
    /// By virtual host and exchange.
    pub(super) topic_permissions: BTreeMap<(Box<str>, Box<str>), TopicPermission>,
}

#[derive(Debug)]
pub(super) struct PermissionRow {
    pub permission: Permission,
    /// Compiled while a connection uses them.
    pub compiled: Mutex<Weak<VirtualHostPermissions>>,
}

impl Record {
    pub fn new(user: User, password_version: u64) -> Record {
        let name: Arc<str> = user.name.as_str().into();
        Record {
            usage: Arc::new(Usage::new(Arc::clone(&name), user.limits)),
            name,
            user,
            password_version,
            remembered: None,
            permissions: BTreeMap::new(),
            topic_permissions: BTreeMap::new(),
        }
    }

    /// Returns true if these are the name and password of the last right login.
    pub fn remembers(&self, mac: &CredentialMac) -> bool {
        self.remembered.as_ref().is_some_and(|remembered| remembered.is(mac))
    }

    /// The name and password were right.
    pub fn remember(&mut self, mac: CredentialMac) {
        self.remembered = Some(mac);
    }

    pub(super) fn forget_password(&mut self, password_version: u64) {
        self.password_version = password_version;
        self.remembered = None;
    }

    /// The user's row for a virtual host, and the topic rows there.
    pub fn rows(&self, virtual_host: &str) -> Option<(Permission, Vec<TopicPermission>)> {
        let row = self.permissions.get(virtual_host)?;
        Some((row.permission.clone(), self.topic_rows(virtual_host).cloned().collect()))
    }

    /// The compiled form of [`Record::rows`], if a connection uses it.
    pub fn compiled(&self, virtual_host: &str) -> Option<Arc<VirtualHostPermissions>> {
        self.permissions.get(virtual_host)?.compiled.lock().upgrade()
    }

    /// Keeps the compiled form of [`Record::rows`] while a connection uses it.
    pub fn set_compiled(&self, virtual_host: &str, compiled: &Arc<VirtualHostPermissions>) {
        if let Some(row) = self.permissions.get(virtual_host) {
            *row.compiled.lock() = Arc::downgrade(compiled);
        }
    }

    pub fn has_permission(&self, virtual_host: &str) -> bool {
        self.permissions.contains_key(virtual_host)
    }

    pub fn permissions(&self) -> impl Iterator<Item = &Permission> {
        self.permissions.values().map(|row| &row.permission)
    }

    pub fn topic_permissions(&self) -> impl Iterator<Item = &TopicPermission> {
        self.topic_permissions.values()
    }

    fn topic_rows(&self, virtual_host: &str) -> impl Iterator<Item = &TopicPermission> {
        let from: (Box<str>, Box<str>) = (virtual_host.into(), "".into());
        let rows = self.topic_permissions.range(from..).map(|(_, row)| row);
        rows.take_while(move |row| row.virtual_host == virtual_host)
    }

    pub(super) fn forget_compiled(&mut self, host: &str) {
        if let Some(row) = self.permissions.get_mut(host) {
            *row.compiled.get_mut() = Weak::new();
        }
    }

    pub(super) fn take_topic_rows(&mut self, host: &str, exchange: Option<&str>) -> Vec<TopicPermission> {
        let is_meant = |row: &&TopicPermission| exchange.is_none_or(|exchange| row.exchange == exchange);
        let rows: Vec<TopicPermission> = self.topic_rows(host).filter(is_meant).cloned().collect();
        for row in &rows {
            self.topic_permissions.remove(&(Box::from(host), Box::from(&*row.exchange)));
        }
        rows
    }

    pub(super) fn into_revoked(self) -> Revoked {
        Revoked {
            permissions: self.permissions.into_values().map(|row| row.permission).collect(),
            topic_permissions: self.topic_permissions.into_values().collect(),
        }
    }
}
