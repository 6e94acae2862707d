//! `Registry`: the users by name, with the indexes over all users.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Weak};

use hairstreak_socket::security::PublicKey;
use parking_lot::Mutex;

use super::record::{PermissionRow, Record};
use crate::access::error::AccessError;
use crate::access::password::{HashWork, PasswordHash};
use crate::access::resource::{Permission, TopicPermission};
use crate::access::usage::Usage;
use crate::access::user::{NAME_SIZE_MAX, Revoked, User, UserChange, UserUpdate};

/// The most users.
const USERS_MAX: usize = 1 << 20;
/// Maximum number of sets of parameters in Argon2id hashes. A wrong password costs a hash of each.
const ARGON2ID_KINDS_MAX: usize = 4;

/// The most permissions and topic permissions of all users together.
const ROWS_MAX: usize = 1 << 22;

/// All users, permissions and virtual hosts.
#[derive(Debug, Default)]
pub(in crate::access) struct Registry {
    users: BTreeMap<Arc<str>, Record>,
    virtual_hosts: BTreeSet<Box<str>>,
    by_curve_key: HashMap<PublicKey, Arc<str>>,
    /// The kinds of hashes, each with the number of users that have one.
    works: BTreeMap<HashWork, usize>,
    /// Permissions and topic permissions of all users.
    row_count: usize,
    last_password_version: u64,
}

impl Registry {
    /// The user of that name.
    pub fn user(&self, name: &str) -> Option<&Record> {
        self.users.get(name)
    }

    pub fn user_mut(&mut self, name: &str) -> Option<&mut Record> {
        self.users.get_mut(name)
    }

    /// The user that has this in use, unless it was deleted.
    pub fn user_of(&self, usage: &Arc<Usage>) -> Option<&Record> {
        self.user(usage.user()).filter(|record| Arc::ptr_eq(&record.usage, usage))
    }

    /// The user of that CURVE key.
    pub fn by_curve_key(&self, key: &PublicKey) -> Option<&Record> {
        self.user(self.by_curve_key.get(key)?)
    }

    /// The users after `name`, in order.
    pub fn users_after(&self, name: Option<&str>) -> impl Iterator<Item = &Record> {
        let from = name.map_or(Unbounded, Excluded);
        self.users.range::<str, _>((from, Unbounded)).map(|(_, record)| record)
    }

    fn users_after_mut(&mut self, name: Option<&str>) -> impl Iterator<Item = &mut Record> {
        let from = name.map_or(Unbounded, Excluded);
        self.users.range_mut::<str, _>((from, Unbounded)).map(|(_, record)| record)
    }

    /// The kinds of hashes that users have.
    pub fn works(&self) -> Vec<HashWork> {
        self.works.keys().copied().collect()
    }

    /// Creates or changes a user.
    pub fn put_user(&mut self, name: &str, update: UserUpdate) -> Result<UserChange, AccessError> {
        check_name("user", name)?;
        let before = self.users.get(name).map(|record| record.user.clone());
        let mut after = before.clone().unwrap_or_else(|| User::new(name));
        after.update(update);
        self.check_room(before.as_ref(), &after)?;

        let is_other_password =
            before.as_ref().is_none_or(|before| before.password_hash != after.password_hash);
        if let Some(before) = &before {
            self.forget_user(before);
        }
        self.last_password_version += 1;
        let version = self.last_password_version;
        match self.users.get_mut(name) {
            Some(record) => {
                record.user = after.clone();
                record.usage.set_limits(after.limits);
                if is_other_password {
                    record.forget_password(version);
                }
            }
            None => {
                let record = Record::new(after.clone(), version);
                self.users.insert(Arc::clone(&record.name), record);
            }
        }
        if let Some(work) = after.password_hash.work() {
            *self.works.entry(work).or_default() += 1;
        }
        if let (Some(key), Some(record)) = (after.curve, self.users.get(name)) {
            self.by_curve_key.insert(key, Arc::clone(&record.name));
        }
        Ok(UserChange { before, after })
    }

    /// Deletes a user with its permissions.
    pub fn delete_user(&mut self, name: &str) -> Result<(User, Revoked), AccessError> {
        let record = self.users.remove(name).ok_or_else(|| no_such_user(name))?;
        self.forget_user(&record.user);
        let user = record.user.clone();
        let revoked = record.into_revoked();
        self.row_count -= revoked.permissions.len() + revoked.topic_permissions.len();
        Ok((user, revoked))
    }

    fn check_room(&self, before: Option<&User>, after: &User) -> Result<(), AccessError> {
        if before.is_none() && self.users.len() >= USERS_MAX {
            return Err(AccessError::TooMany { of: "users", count: USERS_MAX });
        }
        if let Some(other) = after.curve.and_then(|key| self.by_curve_key.get(&key))
            && **other != *after.name
        {
            return Err(AccessError::CurveKeyTaken { name: other.to_string() });
        }
        self.check_work(before.map(|before| &before.password_hash), &after.password_hash)
    }

    /// Each kind of Argon2id hash makes every wrong password dearer.
    fn check_work(&self, before: Option<&PasswordHash>, after: &PasswordHash) -> Result<(), AccessError> {
        let Some(work @ HashWork::Argon2id(_)) = after.work() else { return Ok(()) };
        if self.works.contains_key(&work) {
            return Ok(());
        }
        let old = before.and_then(PasswordHash::work);
        let stays = |work: &HashWork, count: usize| Some(*work) != old || count > 1;
        let kinds = self
            .works
            .iter()
            .filter(|(work, count)| matches!(work, HashWork::Argon2id(_)) && stays(work, **count));
        if kinds.count() < ARGON2ID_KINDS_MAX {
            return Ok(());
        }
        Err(AccessError::TooMany { of: "sets of parameters of Argon2id", count: ARGON2ID_KINDS_MAX })
    }

    /// Removes a user from the indexes that have other keys than the name.
    fn forget_user(&mut self, user: &User) {
        if let Some(work) = user.password_hash.work()
            && let Some(count) = self.works.get_mut(&work)
        {
            *count -= 1;
            if *count == 0 {
                self.works.remove(&work);
            }
        }
        if let Some(key) = &user.curve {
            self.by_curve_key.remove(key);
        }
    }

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

fn no_such_user(name: &str) -> AccessError {
    AccessError::NoSuchUser { name: name.to_owned() }
}

fn check_name(of: &'static str, name: &str) -> Result<(), AccessError> {
    match name.len() {
        1..=NAME_SIZE_MAX => Ok(()),
        size => Err(AccessError::Name { of, size }),
    }
}

fn too_many() -> AccessError {
    AccessError::TooMany { of: "permissions", count: ROWS_MAX }
}
