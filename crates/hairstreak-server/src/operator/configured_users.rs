//! Users of the node's configuration: they come with it, and go with it.
//!
//! A mark in the catalog says for each which it is: a user that the configuration named, or the default user, which came because the configuration named none. A
//! user without a mark was made by an operator, and stays.

use super::error::OperatorError;
use super::users::{self, UserChanges};
use super::virtual_hosts;
use crate::access::UserUpdate;
use crate::definitions::{ConfiguredUserDefinition, Definition, Kind, PermissionDefinition};
use crate::node::{AmqpOptions, FirstUser, Node};

/// Deletes the users that have gone from the configuration. The default user goes when the configuration names users.
///
/// # Errors
///
/// None that is known: a user that is gone already is no error.
pub(super) fn delete_gone(node: &Node, options: &AmqpOptions) -> Result<(), OperatorError> {
    for definition in node.catalog.all(Kind::ConfiguredUser) {
        let Definition::ConfiguredUser(mark) = definition else { continue };
        let is_named = options.users.iter().any(|user| user.name == mark.name);
        if is_named || mark.is_default && options.users.is_empty() {
            continue;
        }
        match users::delete(node, &mark.name) {
            Ok(_) => log::info!(user = mark.name; "a user has gone from the configuration, and is deleted"),
            Err(OperatorError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Puts the users that the configuration names. A node without any user gets the default user.
///
/// # Errors
///
/// A user makes no sense. Users before it have changed.
pub(super) fn put(node: &Node, options: &AmqpOptions) -> Result<(), OperatorError> {
    options.users.iter().try_for_each(|user| put_one(node, user, false))?;
    if options.users.is_empty() && users::all(node).is_empty() {
        put_one(node, &options.default_user, true)?;
    }
    Ok(())
}

fn put_one(node: &Node, user: &FirstUser, is_default: bool) -> Result<(), OperatorError> {
    let mark = ConfiguredUserDefinition { name: user.name.clone(), is_default };
    if users::find(node, &user.name).is_err() {
        let FirstUser { password_hash, tags, curve, .. } = user.clone();
        let (password_hash, tags, curve) = (Some(password_hash), Some(tags), Some(curve));
        let update = UserUpdate { password_hash, tags, curve, ..UserUpdate::default() };
        return users::put_first(node, mark, update, &virtual_hosts::all(node));
    }
    users::mark(node, mark);
    let tags = user.tags.iter().map(str::to_owned).collect();
    let password_hash = Some(user.password_hash.clone());
    let curve = user.curve.map(|key| key.to_string());
    let changes = UserChanges { password_hash, tags: Some(tags), curve, ..UserChanges::default() };
    users::put(node, &user.name, changes)?;
    let has_rights = users::permissions(node).iter().any(|row| row.user == user.name);
    for host in virtual_hosts::all(node).iter().filter(|_| !has_rights) {
        users::set_permission(node, PermissionDefinition::everything(&user.name, &host.name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{DataPlace, open, reload};

    fn options(names: &[&str]) -> AmqpOptions {
        let user = |name: &&str| FirstUser { name: name.to_string(), ..FirstUser::guest() };
        AmqpOptions { users: names.iter().map(user).collect(), ..AmqpOptions::default() }
    }

    fn names(node: &Node) -> Vec<String> {
        users::all(node).into_iter().map(|user| user.name).collect()
    }

    #[test]
    fn users_go_with_the_configuration_at_a_start_and_when_it_is_read_again() {
        let path = std::env::temp_dir().join(format!("hairstreak-configured-users-{}", std::process::id()));
        let place = DataPlace { path: path.clone(), node_name: "node".into() };
        let start = |names: &[&str]| open(&options(names), Some(&place)).unwrap();
        let end = |node: Node| node.journal.close().unwrap();

        let node = start(&[]);
        assert_eq!(names(&node), ["guest"]);
        end(node);
        let node = start(&["a", "b"]);
        assert_eq!(names(&node), ["a", "b"], "guest came with a configuration without users");
        drop(users::put(&node, "operator", UserChanges::default()).unwrap());
        end(node);
        let node = start(&["b"]);
        assert_eq!(names(&node), ["b", "operator"]);
        assert!(users::permissions(&node).iter().all(|row| row.user == "b"));
        reload(&node, &options(&["a", "operator"])).unwrap();
        assert_eq!(names(&node), ["a", "operator"]);
        // Deleted and made again by an operator, a user is the operator's.
        drop(users::delete(&node, "a").unwrap());
        drop(users::put(&node, "a", UserChanges::default()).unwrap());
        end(node);
        let node = start(&[]);
        assert_eq!(
            names(&node),
            ["a"],
            "the configuration took the operator's user over, and it has gone with it"
        );
        end(node);
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn the_default_user_stays_while_the_configuration_names_nobody() {
        let node = open(&options(&[]), None).unwrap();
        let other = FirstUser { name: "other".into(), ..FirstUser::guest() };
        reload(&node, &AmqpOptions { default_user: other, ..options(&[]) }).unwrap();
        assert_eq!(names(&node), ["guest"]);
        reload(&node, &options(&["shop"])).unwrap();
        assert_eq!(names(&node), ["shop"]);
        reload(&node, &options(&[])).unwrap();
        assert_eq!(names(&node), ["guest"], "as after a start");
    }
}
