//! `Access`: the front of the module: logins, the changes that operators make, and lists for operators.
//!
//! Nothing is written here; the caller gets the changes. Changes of several threads are made one after the other. A caller that
//! writes changes down in the same order makes them on one thread, or under a lock of its own. Long lists are read in slices, so
//! that no login waits for one. A change in the middle may be seen in part.

use std::io;
use std::sync::Arc;

use hairstreak_broker::pattern::PatternError;
use hairstreak_socket::security::PublicKey;
use zeroize::Zeroizing;

use super::error::AccessError;
use super::identity::Identity;
use super::login::{
    LoginAnswer, LoginCounts, LoginError, LoginFigures, LoginJob, LoginResult, LoginRules, LoginThread,
    Logins, Peer, Protocol, Waiting, invalid_credentials, shown,
};
use super::password::{Argon2idParameters, HashingAlgorithm, PASSWORD_SIZE_MAX, PasswordHash};
use super::pattern::{Variables, expand};
use super::registry::{Record, Registry};
use super::resource::{Permission, TopicPermission};
use super::state::State;
use super::user::{NAME_SIZE_MAX, Revoked, User, UserChange, UserLimit, UserUpdate};

/// The users that are read under the lock at a time.
const SLICE_COUNT_MAX: usize = 256;

/// Users and their rights. Shared by all threads; dropped, it ends the hashing thread.
pub struct Access {
    pub(super) state: Arc<State>,
    logins: Arc<Logins>,
    thread: LoginThread,
    options: AccessOptions,
}

/// The rules of logins, and the algorithm of new passwords.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// The rules for logins.
    pub rules: LoginRules,
    /// The algorithm of new passwords. With [`HashingAlgorithm::Sha256`] definitions can move back to RabbitMQ with their passwords;
    /// passwords that were set before keep their hash.
    pub new_passwords: HashingAlgorithm,
    /// The cost of a new hash of Argon2id.
    pub argon2id: Argon2idParameters,
}

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

/// A login with a password.
#[derive(Debug)]
pub enum Login {
    /// Decided at once; the answer was dropped uncalled.
    Now(LoginResult),
    /// The answer comes from the hashing thread.
    Later,
}

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
    /// No users and no virtual hosts; starts the hashing thread.
    ///
    /// Errors: the system gives no random bytes or no thread.
    pub fn start(options: AccessOptions) -> io::Result<Access> {
        let state = Arc::new(State::default());
        let logins = Arc::new(Logins::new(Arc::clone(&state), options.rules.clone())?);
        let thread = Logins::start_thread(&logins)?;
        Ok(Access { state, logins, thread, options })
    }

    /// Hashes a new password as the options say. Keeps the calling thread busy for milliseconds: not for event loops.
    ///
    /// Errors: the password is too long, or the system has no random bytes or no memory.
    pub fn hash_password(&self, password: &[u8]) -> Result<PasswordHash, AccessError> {
        Ok(PasswordHash::of(password, self.options.new_passwords, self.options.argon2id)?)
    }

    /// The number of changes of users and permissions so far.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.state.generation()
    }

    /// Logs a user in by name and password. Never hashes and never blocks. If the same name and password were right before, the
    /// answer is returned at once. Otherwise the hashing thread calls `answer` later.
    ///
    /// The connection waits for the answer, which may come after the connection's end.
    pub fn log_in(
        &self,
        name: &[u8],
        password: &[u8],
        peer: Peer,
        answer: impl FnOnce(LoginResult) + Send + 'static,
    ) -> Login {
        match self.begin(name, password, peer, Box::new(answer)) {
            Some(result) => {
                self.logins.counters.count(&result, peer);
                Login::Now(result)
            }
            None => Login::Later,
        }
    }

    fn begin(&self, name: &[u8], password: &[u8], peer: Peer, answer: LoginAnswer) -> Option<LoginResult> {
        if password.is_empty() {
            return Some(Err(LoginError::BlankPassword { user: shown(name) }));
        }
        if name.len() > NAME_SIZE_MAX || password.len() > PASSWORD_SIZE_MAX {
            return Some(Err(invalid_credentials(name)));
        }
        let mac = self.logins.key.mac(name, password);
        if let Some(identity) = self.logins.remembered(name, &mac) {
            return Some(self.logins.admit(identity, peer));
        }
        let job = LoginJob {
            mac,
            name: name.into(),
            password: Zeroizing::new(password.into()),
            waiting: vec![Waiting { peer, answer }],
        };
        (!self.thread.add(job)).then_some(Err(LoginError::TryLater))
    }

    /// Logs in a user whom something else vouches for, such as a certificate (EXTERNAL).
    ///
    /// Errors: no such user, or the user may not come from there.
    pub fn log_in_without_password(&self, name: &[u8], peer: Peer) -> LoginResult {
        let found = str::from_utf8(name).ok().and_then(|name| self.find(|registry| registry.user(name)));
        self.finish(found.ok_or_else(|| invalid_credentials(name)), peer)
    }

    /// Logs in a client without credentials (ANONYMOUS).
    ///
    /// Errors: that is not allowed, there is no such user, or the user may not come from there.
    pub fn log_in_anonymously(&self, peer: Peer) -> LoginResult {
        let user = self.logins.rules.read().anonymous_user.clone();
        match user {
            Some(user) => self.log_in_without_password(user.as_bytes(), peer),
            None => self.finish(Err(LoginError::NotAnonymous), peer),
        }
    }

    /// Logs in the user of a CURVE key, which the peer has proved to have.
    ///
    /// Errors: no user has the key, or the user may not come from there.
    pub fn log_in_by_curve_key(&self, key: &PublicKey, peer: Peer) -> LoginResult {
        let found = self.find(|registry| registry.by_curve_key(key));
        self.finish(found.ok_or(LoginError::UnknownKey), peer)
    }

    /// Returns the figures of all logins.
    pub fn login_figures(&self) -> LoginFigures {
        self.logins.counters.figures()
    }

    /// Returns the number of logins by each protocol.
    pub fn login_counts(&self) -> [(Protocol, LoginCounts); Protocol::ALL.len()] {
        self.logins.counters.by_protocol()
    }

    /// Counts a login by a protocol that checks more than the credentials. The peer of such a login has no protocol.
    pub fn count_login(&self, protocol: Protocol, is_let_in: bool) {
        self.logins.counters.count_by(protocol, is_let_in);
    }

    /// Counts the logins by each protocol from 0 again.
    pub fn reset_login_counts(&self) {
        self.logins.counters.reset_by_protocol();
    }

    /// Replaces the rules for logins to come.
    pub fn set_login_rules(&self, rules: LoginRules) {
        *self.logins.rules.write() = rules;
    }

    fn find(&self, find: impl FnOnce(&Registry) -> Option<&Record>) -> Option<Arc<Identity>> {
        self.state.read(|registry| find(registry).map(|record| Arc::new(Identity::new(&self.state, record))))
    }

    fn finish(&self, found: LoginResult, peer: Peer) -> LoginResult {
        let result = found.and_then(|identity| self.logins.admit(identity, peer));
        self.logins.counters.count(&result, peer);
        result
    }

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
