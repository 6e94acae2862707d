//! Users, permissions and limits of users.
//!
//! A password that has no hash yet is hashed by the caller ([`hash_password`]), because that takes long.

use hairstreak_broker::pattern::PatternError;
use hairstreak_socket::security::PublicKey;

use super::error::{Done, OperatorError};
use crate::access::{
    AccessError, HashingAlgorithm, PasswordHash, Permission, Revoked, Tags, TopicPermission, User,
    UserChange, UserLimit, UserLimits, UserUpdate,
};
use crate::definitions::{
    Change, ConfiguredUserDefinition, Definition, Kind, Limits, PermissionDefinition, Place,
    TopicPermissionDefinition, UserDefinition, VirtualHostDefinition,
};
use crate::node::{Commit, Node};

/// A change of a user. `None` keeps the present value.
#[derive(Clone, Debug, Default)]
pub struct UserChanges {
    /// The new hash; `None` keeps it.
    pub password_hash: Option<PasswordHash>,
    /// The new tags; `None` keeps them.
    pub tags: Option<Vec<String>>,
    /// The new limits; `None` keeps them.
    pub limits: Option<Limits>,
    /// A public key in Z85; empty: none.
    pub curve: Option<String>,
}

/// The origin of a change of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// An operator, who does not change users with the tag `protected`.
    Operator,
    /// The node itself, for its configuration.
    Node,
}

/// Fails if a user is protected from this side. The caller holds `changing`.
fn check_protected(node: &Node, name: &str, by: By) -> Result<(), OperatorError> {
    let is_protected = || node.access.user(name).is_some_and(|user| user.tags.is_protected());
    if by == By::Operator && is_protected() { Err(OperatorError::ProtectedUser) } else { Ok(()) }
}

/// All users by name.
pub fn all(node: &Node) -> Vec<UserDefinition> {
    node.access.users().iter().map(definition).collect()
}

/// A user.
///
/// # Errors
///
/// There is no such user.
pub fn find(node: &Node, name: &str) -> Result<UserDefinition, OperatorError> {
    node.access.user(name).as_ref().map(definition).ok_or(OperatorError::NotFound)
}

/// Hashes a password as new ones are hashed. Takes tens of milliseconds.
///
/// # Errors
///
/// The password is too long, or the system has no random bytes.
pub fn hash_password(node: &Node, password: &[u8]) -> Result<PasswordHash, OperatorError> {
    node.access.hash_password(password).map_err(|error| OperatorError::Bad(error.to_string()))
}

/// Puts back a user that the data directory has.
pub(super) fn restore(node: &Node, user: UserDefinition) -> Result<(), OperatorError> {
    let UserDefinition { name, password_hash, hashing_algorithm, tags, limits, curve } = user;
    let update = UserUpdate {
        password_hash: Some(read_hash(&password_hash, hashing_algorithm.as_deref())?),
        tags: Some(Tags::from_names(tags.iter().map(String::as_str))?),
        limits: Some(user_limits(&limits)),
        curve: Some(curve.as_deref().map(public_key).transpose()?),
    };
    node.access.put_user(&name, update)?;
    Ok(())
}

/// Puts back a permission that the data directory has.
pub(super) fn restore_permission(node: &Node, row: PermissionDefinition) -> Result<(), OperatorError> {
    let PermissionDefinition { user, vhost, configure, write, read } = row;
    let of = format!("permission of {user} in {vhost}");
    let row = Permission { user, virtual_host: vhost, configure, write, read };
    warn_of_pattern(&of, node.access.restore_permission(row)?);
    Ok(())
}

/// Puts back a topic permission that the data directory has.
pub(super) fn restore_topic_permission(
    node: &Node,
    row: TopicPermissionDefinition,
) -> Result<(), OperatorError> {
    let of = format!("topic permission of {} in {} for {}", row.user, row.vhost, row.exchange);
    warn_of_pattern(&of, node.access.restore_topic_permission(topic_permission(row))?);
    Ok(())
}

/// An older node may have taken a pattern that this one refuses.
fn warn_of_pattern(of: &str, fault: Option<PatternError>) {
    if let Some(fault) = fault {
        log::warn!("{of}: a pattern allows nothing: {fault}");
    }
}

fn public_key(text: &str) -> Result<PublicKey, OperatorError> {
    text.parse().map_err(|error| OperatorError::Bad(format!("curve: {error}")))
}

/// Creates or changes a user. Changed rights hold for the user's connections at once.
///
/// # Errors
///
/// A value is invalid, the user is protected, or nothing can be written now.
pub fn put(node: &Node, name: &str, changes: UserChanges, by: By) -> Result<Done, OperatorError> {
    let UserChanges { password_hash, tags, limits, curve } = changes;
    let tags = tags.map(|tags| Tags::from_names(tags.iter().map(String::as_str))).transpose()?;
    let curve = match curve.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(text) => Some(Some(public_key(text)?)),
    };
    let limits = limits.as_ref().map(user_limits);
    let _changing = node.changing.lock();
    check_protected(node, name, by)?;
    node.journal.check()?;
    let change = node.access.put_user(name, UserUpdate { password_hash, tags, limits, curve })?;
    Ok(Done { is_new: change.before.is_none(), commit: node.journal.commit(&changed(&change)) })
}

/// Returns the change on disk. An unchanged user needs no write.
fn changed(UserChange { before, after }: &UserChange) -> Vec<Change> {
    if before.as_ref() == Some(after) {
        return Vec::new();
    }
    let before = before.as_ref().map(|user| Definition::User(definition(user)));
    vec![Change::put(before, Definition::User(definition(after)))]
}

/// Creates or changes a user of the configuration. A new user without permissions may do everything in these virtual hosts.
/// Permissions that an operator takes away later stay away. All is one batch: after a crash the user has both rights and mark, or
/// neither.
///
/// # Errors
///
/// A value is invalid, or nothing can be written now.
pub(super) fn put_configured(
    node: &Node,
    mark: ConfiguredUserDefinition,
    update: UserUpdate,
    hosts: &[VirtualHostDefinition],
) -> Result<(), OperatorError> {
    let _changing = node.changing.lock();
    node.journal.check()?;
    let name = mark.name.clone();
    let mut changes = changed(&node.access.put_user(&name, update)?);
    let mark = Definition::ConfiguredUser(mark);
    let before = node.catalog.put(mark.clone());
    let gets_rights = before.is_none() && node.access.permissions(Some(&name), None).is_empty();
    if before.as_ref() != Some(&mark) {
        changes.push(Change::put(before, mark));
    }
    for host in hosts.iter().filter(|_| gets_rights) {
        let row = PermissionDefinition::everything(&name, &host.name);
        restore_permission(node, row.clone())?;
        changes.push(Change::Put(Definition::Permission(row)));
    }
    drop(node.journal.commit(&changes));
    Ok(())
}

/// Replaces the user of the same name by a user of a file. `password`: the password itself, if the file has it. Returns the
/// reason for which the user has no password, if the file has a hash that cannot match. RabbitMQ keeps such a hash, and the user
/// cannot log in with it.
///
/// # Errors
///
/// A value is invalid, the user is protected, or nothing can be written now.
pub fn import(
    node: &Node,
    user: UserDefinition,
    password: Option<&str>,
    by: By,
) -> Result<(Commit, Option<String>), OperatorError> {
    let UserDefinition { name, password_hash, hashing_algorithm, tags, limits, curve } = user;
    let (hash, useless) = match password {
        Some(password) => (hash_password(node, password.as_bytes())?, None),
        None => match read_hash(&password_hash, hashing_algorithm.as_deref()) {
            Ok(hash) => (hash, None),
            Err(OperatorError::Bad(reason)) => (PasswordHash::none(), Some(reason)),
            Err(error) => return Err(error),
        },
    };
    let changes = UserChanges { password_hash: Some(hash), tags: Some(tags), limits: Some(limits), curve };
    put(node, &name, changes, by).map(|done| (done.commit, useless))
}

/// Reads a hash of definitions.
///
/// # Errors
///
/// The algorithm is unknown, or the hash is none of the algorithm.
pub fn read_hash(text: &str, algorithm: Option<&str>) -> Result<PasswordHash, OperatorError> {
    let algorithm = match algorithm {
        None => HashingAlgorithm::Sha256,
        Some(name) => HashingAlgorithm::from_name(name)
            .ok_or_else(|| OperatorError::Bad(format!("unknown hashing_algorithm '{name}'")))?,
    };
    PasswordHash::from_text(text, algorithm).map_err(|error| OperatorError::Bad(error.to_string()))
}

/// Deletes a user with its permissions, and closes its connections.
///
/// # Errors
///
/// There is no such user, or the user is protected.
pub fn delete(node: &Node, name: &str, by: By) -> Result<Commit, OperatorError> {
    delete_all(node, &[name], by)
}

/// Deletes several users, all or none, in one batch. A repeated name counts once.
///
/// # Errors
///
/// A name has no user, or its user is protected.
pub fn delete_all(node: &Node, names: &[&str], by: By) -> Result<Commit, OperatorError> {
    let _changing = node.changing.lock();
    for name in names {
        find(node, name)?;
        check_protected(node, name, by)?;
    }
    let mut changes = Vec::new();
    for name in names {
        // The second of two equal names finds nothing.
        let Ok((_, revoked)) = node.access.delete_user(name) else { continue };
        changes.extend(deletions(&revoked));
        changes.push(Change::Delete(Place::new(Kind::User, &[name.as_bytes()])));
        let mark = Place::new(Kind::ConfiguredUser, &[name.as_bytes()]);
        changes.extend(node.catalog.remove(&mark).map(|_| Change::Delete(mark)));
    }
    let commit = node.journal.commit(&changes);
    for name in names {
        node.close_connections(&format!("user '{name}' is deleted"), |connection| {
            &*connection.client.user == *name
        });
    }
    Ok(commit)
}

/// Returns the changes that delete the rights of a deleted user or virtual host.
pub(super) fn deletions(Revoked { permissions, topic_permissions }: &Revoked) -> Vec<Change> {
    let rows = permissions.iter().map(|row| Definition::Permission(permission_definition(row)));
    let topics = topic_permissions.iter().map(|row| Definition::TopicPermission(topic_definition(row)));
    rows.chain(topics).map(|definition| Change::Delete(definition.place())).collect()
}

/// Has a user be as before a change that could not be written.
pub(super) fn take_back(node: &Node, before: UserDefinition) -> Result<(), OperatorError> {
    let limits = user_limits(&before.limits);
    restore(node, before.clone())?;
    // A key that the change has added is removed with it.
    let update = UserUpdate { limits: Some(limits), curve: Some(None), ..UserUpdate::default() };
    if before.curve.is_none() {
        node.access.put_user(&before.name, update)?;
    }
    Ok(())
}

/// Sets or clears a limit of a user.
///
/// # Errors
///
/// There is no such user, the user is protected, or nothing can be written now.
pub fn set_limit(
    node: &Node,
    name: &str,
    limit: UserLimit,
    value: Option<i64>,
) -> Result<Commit, OperatorError> {
    let _changing = node.changing.lock();
    check_protected(node, name, By::Operator)?;
    node.journal.check()?;
    Ok(node.journal.commit(&changed(&node.access.set_user_limit(name, limit, value)?)))
}

/// All permissions, by virtual host and user.
pub fn permissions(node: &Node) -> Vec<PermissionDefinition> {
    node.access.permissions(None, None).iter().map(permission_definition).collect()
}

/// All topic permissions, by virtual host and user.
pub fn topic_permissions(node: &Node) -> Vec<TopicPermissionDefinition> {
    node.access.topic_permissions(None, None).iter().map(topic_definition).collect()
}

/// Gives a user rights in a virtual host.
///
/// # Errors
///
/// There is no such user or host, a pattern is none, the user is protected, or nothing can be written now.
pub fn set_permission(node: &Node, row: PermissionDefinition, by: By) -> Result<Done, OperatorError> {
    let PermissionDefinition { user, vhost, configure, write, read } = row.clone();
    let permission = Permission { user, virtual_host: vhost, configure, write, read };
    let _changing = node.changing.lock();
    check_protected(node, &row.user, by)?;
    node.journal.check()?;
    let before = node.access.set_permission(permission)?;
    let before = before.map(|before| Definition::Permission(permission_definition(&before)));
    let is_new = before.is_none();
    Ok(Done { is_new, commit: node.journal.commit(&[Change::put(before, Definition::Permission(row))]) })
}

/// Takes a user's rights in a virtual host.
///
/// # Errors
///
/// There is no such permission, or the user is protected.
pub fn clear_permission(
    node: &Node,
    virtual_host: &str,
    user: &str,
    by: By,
) -> Result<Commit, OperatorError> {
    let _changing = node.changing.lock();
    check_protected(node, user, by)?;
    node.access.clear_permission(user, virtual_host)?.ok_or(OperatorError::NotFound)?;
    let place = Place::new(Kind::Permission, &[virtual_host.as_bytes(), user.as_bytes()]);
    Ok(node.journal.commit(&[Change::Delete(place)]))
}

/// Restricts the routing keys of a user at an exchange.
///
/// # Errors
///
/// There is no such user or host, a pattern is none, the user is protected, or nothing can be written now.
pub fn set_topic_permission(
    node: &Node,
    row: TopicPermissionDefinition,
    by: By,
) -> Result<Done, OperatorError> {
    let _changing = node.changing.lock();
    check_protected(node, &row.user, by)?;
    node.journal.check()?;
    let before = node.access.set_topic_permission(topic_permission(row.clone()))?;
    let before = before.map(|before| Definition::TopicPermission(topic_definition(&before)));
    let is_new = before.is_none();
    Ok(Done { is_new, commit: node.journal.commit(&[Change::put(before, Definition::TopicPermission(row))]) })
}

/// Restricts the routing keys of a user as a file demands. An invalid pattern allows nothing: without the row, the user could use
/// every key. Returns the fault of such a pattern.
///
/// # Errors
///
/// There is no such user or host, the user is protected, or nothing can be written now.
pub fn import_topic_permission(
    node: &Node,
    row: TopicPermissionDefinition,
    by: By,
) -> Result<(Commit, Option<PatternError>), OperatorError> {
    let _changing = node.changing.lock();
    check_protected(node, &row.user, by)?;
    node.journal.check()?;
    let place = Definition::TopicPermission(row.clone()).place();
    let before = node.access.topic_permissions(Some(&row.user), Some(&row.vhost)).into_iter();
    let before = before.map(|before| Definition::TopicPermission(topic_definition(&before)));
    let before = before.into_iter().find(|before| before.place() == place);
    let fault = node.access.restore_topic_permission(topic_permission(row.clone()))?;
    Ok((node.journal.commit(&[Change::put(before, Definition::TopicPermission(row))]), fault))
}

fn topic_permission(row: TopicPermissionDefinition) -> TopicPermission {
    let TopicPermissionDefinition { user, vhost, exchange, write, read } = row;
    TopicPermission { user, virtual_host: vhost, exchange, write, read }
}

/// Takes the restrictions of a user at an exchange, or at all exchanges of a virtual host.
///
/// # Errors
///
/// There are none, or the user is protected.
pub fn clear_topic_permissions(
    node: &Node,
    virtual_host: &str,
    user: &str,
    exchange: Option<&str>,
    by: By,
) -> Result<Commit, OperatorError> {
    let _changing = node.changing.lock();
    check_protected(node, user, by)?;
    let cleared = node.access.clear_topic_permissions(user, virtual_host, exchange)?;
    if cleared.is_empty() {
        return Err(OperatorError::NotFound);
    }
    let places = cleared.iter().map(|row| Definition::TopicPermission(topic_definition(row)).place());
    Ok(node.journal.commit(&places.map(Change::Delete).collect::<Vec<_>>()))
}

/// A user as definitions have it.
pub fn definition(user: &User) -> UserDefinition {
    let limits = UserLimit::ALL.into_iter();
    UserDefinition {
        name: user.name.clone(),
        password_hash: user.password_hash.to_export(),
        hashing_algorithm: Some(user.password_hash.algorithm().name().into()),
        tags: user.tags.iter().map(str::to_owned).collect(),
        limits: limits
            .filter_map(|limit| Some((limit.name().to_owned(), user.limits.value(limit)?)))
            .collect(),
        curve: user.curve.map(|key| key.to_string()),
    }
}

/// Returns the user limits of a definition.
pub fn user_limits(limits: &Limits) -> UserLimits {
    UserLimit::ALL
        .into_iter()
        .fold(UserLimits::default(), |all, limit| all.with(limit, limits.get(limit.name()).copied()))
}

fn permission_definition(row: &Permission) -> PermissionDefinition {
    PermissionDefinition {
        user: row.user.clone(),
        vhost: row.virtual_host.clone(),
        configure: row.configure.clone(),
        write: row.write.clone(),
        read: row.read.clone(),
    }
}

fn topic_definition(row: &TopicPermission) -> TopicPermissionDefinition {
    TopicPermissionDefinition {
        user: row.user.clone(),
        vhost: row.virtual_host.clone(),
        exchange: row.exchange.clone(),
        write: row.write.clone(),
        read: row.read.clone(),
    }
}

impl From<AccessError> for OperatorError {
    fn from(error: AccessError) -> OperatorError {
        match error {
            AccessError::NoSuchUser { .. } | AccessError::NoSuchVirtualHost { .. } => OperatorError::NotFound,
            error => OperatorError::Bad(error.to_string()),
        }
    }
}
