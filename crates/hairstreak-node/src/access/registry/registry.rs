//! `Registry`: the users by name, with the indexes over all users.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use hairstreak_socket::security::PublicKey;

use super::record::Record;
use crate::access::error::AccessError;
use crate::access::password::{HashWork, PasswordHash};
use crate::access::usage::Usage;
use crate::access::user::{NAME_SIZE_MAX, Revoked, User, UserChange, UserUpdate};

/// The most users.
const USERS_MAX: usize = 1 << 20;
/// Maximum number of sets of parameters in Argon2id hashes. A wrong password costs a hash of each.
const ARGON2ID_KINDS_MAX: usize = 4;

/// All users, permissions and virtual hosts.
#[derive(Debug, Default)]
pub(in crate::access) struct Registry {
    pub(super) users: BTreeMap<Arc<str>, Record>,
    pub(super) virtual_hosts: BTreeSet<Box<str>>,
    by_curve_key: HashMap<PublicKey, Arc<str>>,
    /// The kinds of hashes, each with the number of users that have one.
    works: BTreeMap<HashWork, usize>,
    /// Permissions and topic permissions of all users.
    pub(super) row_count: usize,
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

    pub(super) fn users_after_mut(&mut self, name: Option<&str>) -> impl Iterator<Item = &mut Record> {
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
}

pub(super) fn no_such_user(name: &str) -> AccessError {
    AccessError::NoSuchUser { name: name.to_owned() }
}

pub(super) fn check_name(of: &'static str, name: &str) -> Result<(), AccessError> {
    match name.len() {
        1..=NAME_SIZE_MAX => Ok(()),
        size => Err(AccessError::Name { of, size }),
    }
}
