//! The lists for operators: users and permissions as owned rows.
//!
//! Long lists are read in slices, so that no login waits for one. A change in the middle may be seen in part.

use super::access::Access;
use super::registry::Record;
use super::resource::{Permission, TopicPermission};
use super::user::User;

/// The users that are read under the lock at a time.
pub(super) const SLICE_COUNT_MAX: usize = 256;

/// A user with its open connections and channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserView {
    /// The user.
    pub user: User,
    /// Connections.
    pub connection_count: u32,
    /// Channels.
    pub channel_count: u32,
}

impl Access {
    /// The user of that name.
    pub fn user(&self, name: &str) -> Option<User> {
        self.state.read(|registry| registry.user(name).map(|record| record.user.clone()))
    }

    /// All users, by name.
    pub fn users(&self) -> Vec<User> {
        self.collect(|record, users| users.push(record.user.clone()))
    }

    /// Returns all users by name, with their open connections and channels.
    pub fn user_views(&self) -> Vec<UserView> {
        self.collect(|record, views| {
            let (connection_count, channel_count) = record.usage.counts();
            views.push(UserView { user: record.user.clone(), connection_count, channel_count });
        })
    }

    /// The users that have no permission for any virtual host, by name.
    pub fn users_without_permissions(&self) -> Vec<User> {
        self.collect(|record, users| {
            if record.permissions().next().is_none() {
                users.push(record.user.clone());
            }
        })
    }

    /// Returns the permissions by user and virtual host. A user or a virtual host limits the list.
    pub fn permissions(&self, user: Option<&str>, virtual_host: Option<&str>) -> Vec<Permission> {
        let is_meant =
            |row: &&Permission| virtual_host.is_none_or(|virtual_host| row.virtual_host == virtual_host);
        self.collect_of(user, |record, rows| rows.extend(record.permissions().filter(is_meant).cloned()))
    }

    /// Returns the topic permissions by user, virtual host and exchange. A user or a virtual host limits the list.
    pub fn topic_permissions(&self, user: Option<&str>, virtual_host: Option<&str>) -> Vec<TopicPermission> {
        let is_meant =
            |row: &&TopicPermission| virtual_host.is_none_or(|virtual_host| row.virtual_host == virtual_host);
        self.collect_of(user, |record, rows| {
            rows.extend(record.topic_permissions().filter(is_meant).cloned())
        })
    }

    fn collect_of<T>(&self, user: Option<&str>, add: impl Fn(&Record, &mut Vec<T>)) -> Vec<T> {
        let Some(name) = user else { return self.collect(add) };
        let mut all = Vec::new();
        self.state.read(|registry| registry.user(name).into_iter().for_each(|record| add(record, &mut all)));
        all
    }

    fn collect<T>(&self, add: impl Fn(&Record, &mut Vec<T>)) -> Vec<T> {
        let mut all = Vec::new();
        let mut last = None;
        loop {
            let next = self.state.read(|registry| {
                let mut next = None;
                for record in registry.users_after(last.as_deref()).take(SLICE_COUNT_MAX) {
                    add(record, &mut all);
                    next = Some(record.name.clone());
                }
                next
            });
            match next {
                Some(name) => last = Some(name),
                None => return all,
            }
        }
    }
}
