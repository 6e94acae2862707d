//! The changes that operators make: users, permissions, virtual hosts. Nothing is written here; the caller gets the changes.
//!
//! Changes of several threads are made one after the other. A caller that writes changes down in the same
//! order makes them on one thread, or under a lock of its own.

use hairstreak_broker::pattern::PatternError;

use super::access::Access;
use super::error::AccessError;
use super::listing::SLICE_COUNT_MAX;
use super::pattern::{Variables, expand};
use super::registry::Registry;
use super::resource::{Permission, TopicPermission};
use super::user::{Revoked, User, UserChange, UserLimit, UserUpdate};

/// All definitions of users: a node loads them when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessDefinitions {
    /// The users.
    pub users: Vec<User>,
    /// The names of the virtual hosts.
    pub virtual_hosts: Vec<String>,
    /// The permissions of these users in these virtual hosts.
    pub permissions: Vec<Permission>,
    /// Their topic permissions.
    pub topic_permissions: Vec<TopicPermission>,
}

impl Access {
    /// Replaces all definitions at the start of a node. Patterns are not checked: an invalid pattern refuses everything.
    ///
    /// Errors: a user or a permission that cannot be; everything is as before.
    pub fn restore(&self, definitions: AccessDefinitions) -> Result<(), AccessError> {
        let mut registry = Registry::default();
        for name in &definitions.virtual_hosts {
            registry.add_virtual_host(name);
        }
        for user in definitions.users {
            let User { name, password_hash, tags, limits, curve } = user;
            let update = UserUpdate {
                password_hash: Some(password_hash),
                tags: Some(tags),
                limits: Some(limits),
                curve: Some(curve),
            };
            registry.put_user(&name, update)?;
        }
        for permission in definitions.permissions {
            registry.set_permission(permission)?;
        }
        for permission in definitions.topic_permissions {
            registry.set_topic_permission(permission)?;
        }
        // The old users are dropped outside of the lock.
        self.state.change(|current| Ok(std::mem::replace(current, registry))).map(drop)
    }

    /// Creates a user, or changes the user of that name, whose permissions stay. If the hash changes, a remembered login with the
    /// old password is forgotten.
    ///
    /// Errors: the name, a CURVE key that another user has, too many users.
    pub fn put_user(&self, name: &str, update: UserUpdate) -> Result<UserChange, AccessError> {
        self.state.change(|registry| registry.put_user(name, update))
    }

    /// Deletes a user with its permissions. Its connections are the caller's to close ([`super::Identity::is_deleted`]); until then
    /// they are allowed nothing.
    ///
    /// Errors: no such user.
    pub fn delete_user(&self, name: &str) -> Result<(User, Revoked), AccessError> {
        self.state.change(|registry| registry.delete_user(name))
    }

    /// Sets a limit of a user, or takes it away. Connections and channels above the limit stay open.
    ///
    /// Errors: no such user.
    pub fn set_user_limit(
        &self,
        name: &str,
        limit: UserLimit,
        value: Option<i64>,
    ) -> Result<UserChange, AccessError> {
        self.state.change(|registry| {
            let user = registry.user(name).map(|record| record.user.limits);
            let limits = user.ok_or_else(|| AccessError::NoSuchUser { name: name.to_owned() })?;
            registry.put_user(
                name,
                UserUpdate { limits: Some(limits.with(limit, value)), ..UserUpdate::default() },
            )
        })
    }

    /// Sets a user's permission for a virtual host. Returns the replaced permission.
    ///
    /// Errors: no such user or virtual host, a pattern that is none, too many permissions.
    pub fn set_permission(&self, permission: Permission) -> Result<Option<Permission>, AccessError> {
        self.check_patterns(&permission)?;
        self.state.change(|registry| registry.set_permission(permission))
    }

    /// Puts back a permission that was set before, maybe by an older node. A pattern that is none here allows nothing; returns its
    /// fault.
    ///
    /// Errors: no such user or virtual host, too many permissions.
    pub fn restore_permission(&self, permission: Permission) -> Result<Option<PatternError>, AccessError> {
        let fault = self.check_patterns(&permission).err();
        self.state.change(|registry| registry.set_permission(permission))?;
        Ok(fault)
    }

    fn check_patterns(&self, permission: &Permission) -> Result<(), PatternError> {
        let mut patterns = [&permission.configure, &permission.write, &permission.read].into_iter();
        patterns.try_for_each(|pattern| self.state.patterns.get(pattern).map(drop))
    }

    /// Removes a user's permission for a virtual host. Returns the removed permission.
    ///
    /// Errors: no such user or virtual host.
    pub fn clear_permission(
        &self,
        user: &str,
        virtual_host: &str,
    ) -> Result<Option<Permission>, AccessError> {
        self.state.change(|registry| registry.clear_permission(user, virtual_host))
    }

    /// Sets a user's permission for the routing keys of an exchange, which need not exist. Returns the replaced permission.
    ///
    /// Errors: no such user or virtual host, a pattern that is none, too many permissions.
    pub fn set_topic_permission(
        &self,
        permission: TopicPermission,
    ) -> Result<Option<TopicPermission>, AccessError> {
        self.check_topic_patterns(&permission)?;
        self.state.change(|registry| registry.set_topic_permission(permission))
    }

    /// Puts back a topic permission, as [`Access::restore_permission`] does a permission.
    ///
    /// Errors: no such user or virtual host, too many permissions.
    pub fn restore_topic_permission(
        &self,
        permission: TopicPermission,
    ) -> Result<Option<PatternError>, AccessError> {
        let fault = self.check_topic_patterns(&permission).err();
        self.state.change(|registry| registry.set_topic_permission(permission))?;
        Ok(fault)
    }

    fn check_topic_patterns(&self, permission: &TopicPermission) -> Result<(), PatternError> {
        let variables =
            Variables { user: &permission.user, virtual_host: &permission.virtual_host, client_id: None };
        let mut patterns = [&permission.write, &permission.read].into_iter();
        patterns.try_for_each(|pattern| self.state.patterns.get(&expand(pattern, variables)).map(drop))
    }

    /// Takes a user's permission for the routing keys of an exchange, or of all exchanges of the virtual host. Returns them.
    ///
    /// Errors: no such user or virtual host.
    pub fn clear_topic_permissions(
        &self,
        user: &str,
        virtual_host: &str,
        exchange: Option<&str>,
    ) -> Result<Vec<TopicPermission>, AccessError> {
        self.state.change(|registry| registry.clear_topic_permissions(user, virtual_host, exchange))
    }

    /// There is a new virtual host, which permissions may name. False if it was there.
    pub fn add_virtual_host(&self, name: &str) -> bool {
        let _turn = self.state.host_changes.lock();
        self.state.note(|registry| registry.add_virtual_host(name))
    }

    /// Removes a virtual host with all permissions for it. Visits every user, in slices, so that no login waits long. Returns
    /// `None` if there was no host of that name.
    pub fn remove_virtual_host(&self, name: &str) -> Option<Revoked> {
        let _turn = self.state.host_changes.lock();
        self.state.change(|registry| registry.remove_virtual_host(name).then_some(()).ok_or(())).ok()?;
        let mut revoked = Revoked::default();
        let mut last = None;
        loop {
            last = self.state.note(|registry| {
                registry.revoke_virtual_host(name, last.as_deref(), SLICE_COUNT_MAX, &mut revoked)
            });
            if last.is_none() {
                return Some(revoked);
            }
        }
    }
}
