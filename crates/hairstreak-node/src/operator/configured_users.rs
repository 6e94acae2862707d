//! Users of the node's configuration: they come with it, and go with it.
//!
//! A mark in the catalog tells them apart: a user that the configuration named, or the default user, created because the
//! configuration named none. A user without a mark was created by an operator, and stays.

use super::error::OperatorError;
use super::users::{self, By};
use super::virtual_hosts;
use crate::access::UserUpdate;
use crate::config::{FirstUser, NodeConfig};
use crate::definitions::{ConfiguredUserDefinition, Definition, Kind};
use crate::node::Node;

/// Deletes the users that the configuration no longer names. The default user is deleted when the configuration names users. A
/// node that is started without any configuration keeps them, with all their rights: a forgotten file is no request to delete
/// users.
///
/// # Errors
///
/// No error is known: a user that is deleted already is no error.
pub(super) fn delete_gone(node: &Node, config: &NodeConfig) -> Result<(), OperatorError> {
    if config.file.is_none() {
        return Ok(());
    }
    for definition in node.catalog.all(Kind::ConfiguredUser) {
        let Definition::ConfiguredUser(mark) = definition else { continue };
        let is_named = config.users.iter().any(|user| user.name == mark.name);
        if is_named || mark.is_default && config.users.is_empty() {
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
pub(super) fn put(node: &Node, config: &NodeConfig) -> Result<(), OperatorError> {
    config.users.iter().try_for_each(|user| put_one(node, user, false))?;
    if config.users.is_empty() && users::all(node).is_empty() {
        put_one(node, &config.default_user, true)?;
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
    use std::path::Path;

    use super::*;
    use crate::definitions::{PermissionDefinition, VirtualHostDefinition};
    use crate::operator::users::UserChanges;
    use crate::operator::{open, reload};

    fn config(names: &[&str]) -> NodeConfig {
        let user = |name: &&str| FirstUser { name: name.to_string(), ..FirstUser::guest() };
        let users = names.iter().map(user).collect();
        NodeConfig { file: Some("node.toml".into()), users, ..NodeConfig::default() }
    }

    /// Opens a node with a data directory.
    fn open_at(path: &Path, config: NodeConfig) -> Node {
        open(&NodeConfig { data_dir: Some(path.into()), ..config }).unwrap()
    }

    fn names(node: &Node) -> Vec<String> {
        users::all(node).into_iter().map(|user| user.name).collect()
    }

    #[test]
    fn users_go_with_the_configuration_at_a_start_and_when_it_is_read_again() {
        let path = std::env::temp_dir().join(format!("hairstreak-configured-users-{}", std::process::id()));
        let start = |names: &[&str]| open_at(&path, config(names));
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
        reload(&node, &config(&["a", "operator"])).unwrap();
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
        let node = open_at(&path, config(&["a"]));
        let row =
            PermissionDefinition { configure: "^mine".into(), ..PermissionDefinition::everything("a", "/") };
        drop(users::set_permission(&node, row.clone(), By::Operator).unwrap());
        node.journal.close().unwrap();
        drop(node);
        for config in [NodeConfig::default(), config(&["a"])] {
            let node = open_at(&path, config);
            assert_eq!((names(&node), users::permissions(&node)), (vec!["a".to_owned()], vec![row.clone()]));
            node.journal.close().unwrap();
        }
        let node = open_at(&path, config(&[]));
        assert_eq!(names(&node), ["guest"], "a configuration without users is a wish");
        node.journal.close().unwrap();
        drop(node);
        std::fs::remove_dir_all(path).unwrap();
    }

    /// A right that an operator takes from a user of the configuration stays away.
    #[test]
    fn a_user_of_the_configuration_gets_all_rights_only_once() {
        let path = std::env::temp_dir().join(format!("hairstreak-rights-once-{}", std::process::id()));
        let node = open_at(&path, config(&["a"]));
        assert_eq!(users::permissions(&node), [PermissionDefinition::everything("a", "/")]);
        drop(users::clear_permission(&node, "/", "a", By::Operator).unwrap());
        reload(&node, &config(&["a", "b"])).unwrap();
        assert_eq!(users::permissions(&node), [PermissionDefinition::everything("b", "/")]);
        let host = VirtualHostDefinition { name: "v".into(), ..VirtualHostDefinition::default() };
        drop(virtual_hosts::put(&node, host, None).unwrap());
        reload(&node, &config(&["a", "b"])).unwrap();
        node.journal.close().unwrap();
        drop(node);
        let node = open_at(&path, config(&["a", "b"]));
        assert_eq!(users::permissions(&node), [PermissionDefinition::everything("b", "/")]);
        node.journal.close().unwrap();
        drop(node);
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn the_default_user_stays_while_the_configuration_names_nobody() {
        let node = open(&config(&[])).unwrap();
        let other = FirstUser { name: "other".into(), ..FirstUser::guest() };
        reload(&node, &NodeConfig { default_user: other, ..config(&[]) }).unwrap();
        assert_eq!(names(&node), ["guest"]);
        reload(&node, &config(&["shop"])).unwrap();
        assert_eq!(names(&node), ["shop"]);
        reload(&node, &config(&[])).unwrap();
        assert_eq!(names(&node), ["guest"], "as after a start");
    }
}
