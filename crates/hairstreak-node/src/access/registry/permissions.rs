//! The registry's permissions and virtual hosts.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::record::{PermissionRow, Record};
use super::registry::{Registry, check_name, no_such_user};
use crate::access::error::AccessError;
use crate::access::resource::{Permission, TopicPermission};
use crate::access::user::Revoked;

/// The most permissions and topic permissions of all users together.
const ROWS_MAX: usize = 1 << 22;

impl Registry {
    /// Sets a user's permission for a virtual host. Returns the replaced permission.
    pub fn set_permission(&mut self, permission: Permission) -> Result<Option<Permission>, AccessError> {
        let (name, host) = (permission.user.clone(), permission.virtual_host.clone());
        let has_room = self.row_count < ROWS_MAX;
        let record = self.user_for(&name, &host)?;
        if !has_room && !record.has_permission(&host) {
            return Err(too_many());
        }
        let row = PermissionRow { permission, compiled: Mutex::new(Weak::new()) };
        let before = record.permissions.insert(host.into(), row).map(|row| row.permission);
        self.row_count += usize::from(before.is_none());
        Ok(before)
    }

    /// Removes a user's permission for a virtual host. Returns the removed permission.
    pub fn clear_permission(&mut self, name: &str, host: &str) -> Result<Option<Permission>, AccessError> {
        let row = self.user_for(name, host)?.permissions.remove(host);
        self.row_count -= usize::from(row.is_some());
        Ok(row.map(|row| row.permission))
    }

    /// Sets a user's permission for the routing keys of an exchange. Returns the replaced permission.
    pub fn set_topic_permission(
        &mut self,
        permission: TopicPermission,
    ) -> Result<Option<TopicPermission>, AccessError> {
        let (name, host) = (permission.user.clone(), permission.virtual_host.clone());
        if !permission.exchange.is_empty() {
            check_name("exchange", &permission.exchange)?;
        }
        let has_room = self.row_count < ROWS_MAX;
        let record = self.user_for(&name, &host)?;
        let key = (Box::from(&*host), Box::from(&*permission.exchange));
        if !has_room && !record.topic_permissions.contains_key(&key) {
            return Err(too_many());
        }
        let before = record.topic_permissions.insert(key, permission);
        record.forget_compiled(&host);
        self.row_count += usize::from(before.is_none());
        Ok(before)
    }

    /// Takes a user's permission for the routing keys of an exchange, or of all exchanges of a virtual host. Returns them.
    pub fn clear_topic_permissions(
        &mut self,
        name: &str,
        host: &str,
        exchange: Option<&str>,
    ) -> Result<Vec<TopicPermission>, AccessError> {
        let record = self.user_for(name, host)?;
        let cleared = record.take_topic_rows(host, exchange);
        record.forget_compiled(host);
        self.row_count -= cleared.len();
        Ok(cleared)
    }

    /// A virtual host that permissions may name. False if it was there.
    pub fn add_virtual_host(&mut self, name: &str) -> bool {
        self.virtual_hosts.insert(name.into())
    }

    /// Removes a virtual host: permissions for it no longer count. The permissions themselves stay until
    /// [`Registry::revoke_virtual_host`]. Returns false if there was no such host.
    pub fn remove_virtual_host(&mut self, name: &str) -> bool {
        self.virtual_hosts.remove(name)
    }

    /// Takes the permissions for a virtual host from `count` users after `last`. Returns the last of them, if there are more.
    pub fn revoke_virtual_host(
        &mut self,
        name: &str,
        last: Option<&str>,
        count: usize,
        revoked: &mut Revoked,
    ) -> Option<Arc<str>> {
        let before = revoked.permissions.len() + revoked.topic_permissions.len();
        let mut seen = None;
        for record in self.users_after_mut(last).take(count) {
            revoked.permissions.extend(record.permissions.remove(name).map(|row| row.permission));
            revoked.topic_permissions.extend(record.take_topic_rows(name, None));
            seen = Some(Arc::clone(&record.name));
        }
        self.row_count -= revoked.permissions.len() + revoked.topic_permissions.len() - before;
        seen
    }

    pub fn has_virtual_host(&self, name: &str) -> bool {
        self.virtual_hosts.contains(name)
    }

    /// The user, if the virtual host exists, too.
    fn user_for(&mut self, name: &str, host: &str) -> Result<&mut Record, AccessError> {
        if !self.has_virtual_host(host) {
            return Err(AccessError::NoSuchVirtualHost { name: host.to_owned() });
        }
        self.user_mut(name).ok_or_else(|| no_such_user(name))
    }
}

impl Record {
    fn forget_compiled(&mut self, host: &str) {
        if let Some(row) = self.permissions.get_mut(host) {
            *row.compiled.get_mut() = Weak::new();
        }
    }

    fn take_topic_rows(&mut self, host: &str, exchange: Option<&str>) -> Vec<TopicPermission> {
        let is_meant = |row: &&TopicPermission| exchange.is_none_or(|exchange| row.exchange == exchange);
        let rows: Vec<TopicPermission> = self.topic_rows(host).filter(is_meant).cloned().collect();
        for row in &rows {
            self.topic_permissions.remove(&(Box::from(host), Box::from(&*row.exchange)));
        }
        rows
    }
}

fn too_many() -> AccessError {
    AccessError::TooMany { of: "permissions", count: ROWS_MAX }
}
