//! Users of the node's configuration: they come with it, and go with it.
//!
//! A mark in the catalog tells them apart: a user that the configuration named, or the default user, created because the
//! configuration named none. A user without a mark was created by an operator, and stays.

use super::error::OperatorError;
use super::users::{self, By};
use super::virtual_hosts;
use crate::access::UserUpdate;
use crate::definitions::{ConfiguredUserDefinition, Definition, Kind};
use crate::node::{AmqpOptions, FirstUser, Node};

/// Deletes the users that the configuration no longer names. The default user is deleted when the configuration names users. A
/// node that is started without any configuration keeps them, with all their rights: a forgotten file is no request to delete
/// users.
///
/// # Errors
///
/// No error is known: a user that is deleted already is no error.
pub(super) fn delete_gone(node: &Node, options: &AmqpOptions) -> Result<(), OperatorError> {
    if !options.is_configured {
        return Ok(());
    }
    for definition in node.catalog.all(Kind::ConfiguredUser) {
        let Definition::ConfiguredUser(mark) = definition else { continue };
        let is_named = options.users.iter().any(|user| user.name == mark.name);
        if is_named || mark.is_default && options.users.is_empty() {
            continue;
        }
        match users::delete(node, &mark.name, By::Node) {
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
/// A user is invalid. Users before it have changed.
pub(super) fn put(node: &Node, options: &AmqpOptions) -> Result<(), OperatorError> {
    options.users.iter().try_for_each(|user| put_one(node, user, false))?;
    if options.users.is_empty() && users::all(node).is_empty() {
        put_one(node, &options.default_user, true)?;
    }
    Ok(())
}

fn put_one(node: &Node, user: &FirstUser, is_default: bool) -> Result<(), OperatorError> {
    let mark = ConfiguredUserDefinition { name: user.name.clone(), is_default };
    let FirstUser { password_hash, tags, curve, .. } = user.clone();
    // A key that an operator gave stays where the configuration has none.
    let (password_hash, tags, curve) = (Some(password_hash), Some(tags), curve.map(Some));
    let update = UserUpdate { password_hash, tags, curve, ..UserUpdate::default() };
    users::put_configured(node, mark, update, &virtual_hosts::all(node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::{PermissionDefinition, VirtualHostDefinition};
    use crate::operator::users::UserChanges;
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
        drop(users::put(&node, "operator", UserChanges::default(), By::Operator).unwrap());
        end(node);
        let node = start(&["b"]);
        assert_eq!(names(&node), ["b", "operator"]);
        assert!(users::permissions(&node).iter().all(|row| row.user == "b"));
        reload(&node, &options(&["a", "operator"])).unwrap();
        assert_eq!(names(&node), ["a", "operator"]);
        // Deleted and made again by an operator, a user is the operator's.
        drop(users::delete(&node, "a", By::Operator).unwrap());
        drop(users::put(&node, "a", UserChanges::default(), By::Operator).unwrap());
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
    fn a_start_without_the_configuration_keeps_its_users_and_what_they_were_granted() {
        let path = std::env::temp_dir().join(format!("hairstreak-no-configuration-{}", std::process::id()));
        let place = DataPlace { path: path.clone(), node_name: "node".into() };
        let node = open(&options(&["a"]), Some(&place)).unwrap();
        let row =
            PermissionDefinition { configure: "^mine".into(), ..PermissionDefinition::everything("a", "/") };
        drop(users::set_permission(&node, row.clone(), By::Operator).unwrap());
        node.journal.close().unwrap();
        drop(node);
        let without = AmqpOptions { is_configured: false, ..AmqpOptions::default() };
        for options in [&without, &options(&["a"])] {
            let node = open(options, Some(&place)).unwrap();
            assert_eq!((names(&node), users::permissions(&node)), (vec!["a".to_owned()], vec![row.clone()]));
            node.journal.close().unwrap();
        }
        let node = open(&options(&[]), Some(&place)).unwrap();
        assert_eq!(names(&node), ["guest"], "a configuration without users is a wish");
        node.journal.close().unwrap();
        drop(node);
        std::fs::remove_dir_all(path).unwrap();
    }

    /// A right that an operator takes from a user of the configuration stays away.
    #[test]
    fn a_user_of_the_configuration_gets_all_rights_only_once() {
        let path = std::env::temp_dir().join(format!("hairstreak-rights-once-{}", std::process::id()));
        let place = DataPlace { path: path.clone(), node_name: "node".into() };
        let node = open(&options(&["a"]), Some(&place)).unwrap();
        assert_eq!(users::permissions(&node), [PermissionDefinition::everything("a", "/")]);
        drop(users::clear_permission(&node, "/", "a", By::Operator).unwrap());
        reload(&node, &options(&["a", "b"])).unwrap();
        assert_eq!(users::permissions(&node), [PermissionDefinition::everything("b", "/")]);
        let host = VirtualHostDefinition { name: "v".into(), ..VirtualHostDefinition::default() };
        drop(virtual_hosts::put(&node, host, None).unwrap());
        reload(&node, &options(&["a", "b"])).unwrap();
        node.journal.close().unwrap();
        drop(node);
        let node = open(&options(&["a", "b"]), Some(&place)).unwrap();
        assert_eq!(users::permissions(&node), [PermissionDefinition::everything("b", "/")]);
        node.journal.close().unwrap();
        drop(node);
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
