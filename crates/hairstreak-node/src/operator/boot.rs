//! The start of a node: the definitions of the data directory take effect before any client can connect.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use hairstreak_store::log::LogError;
use hairstreak_store::{DataDirectory, DataDirectoryError, DefinitionStore, StoreError};
use thiserror::Error;

use super::error::OperatorError;
use super::users::{self, By};
use super::{configured_users, importing, loading, restoring, taking_effect, virtual_hosts};
use crate::config::NodeConfig;
use crate::definitions::{Definition, DefinitionError, Kind, VirtualHostDefinition, read_document};
use crate::node::{Account, Journal, Messages, Node};

/// A failure to start a node from its data directory.
#[derive(Debug, Error)]
pub enum BootError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DataDirectoryError),
    /// The definitions cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message log cannot be read.
    #[error(transparent)]
    Messages(#[from] LogError),
    /// A user or a virtual host of the options is invalid.
    #[error("the first definitions: {0}")]
    First(#[from] OperatorError),
    /// The system has no thread or no random bytes to give.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The definitions that the node begins with cannot be written.
    #[error("{0}")]
    Unwritten(String),
    /// A definition cannot be understood, or does not fit the others.
    #[error("{}: {reason}", place.display())]
    Definition {
        /// The data directory, or the file of definitions.
        place: PathBuf,
        /// The definition, and the error.
        reason: String,
    },
}

/// A node with the definitions of its data directory, or without one.
///
/// # Errors
///
/// The directory cannot be used, or a definition cannot take effect.
pub fn open(config: &NodeConfig) -> Result<Node, BootError> {
    let account = Arc::new(Account::new(config.amqp.memory_watermark));
    let Some(path) = &config.data_dir else {
        let node = Node::new(config, account, Journal::Off, None)?;
        add_first_definitions(&node, config)?;
        return Ok(node);
    };
    let directory = DataDirectory::open(path, &config.node_name)?;
    let (store, entries) = DefinitionStore::open(&directory)?;
    let wrong = |reason: String| BootError::Definition { place: path.clone(), reason };
    let definitions: Result<Vec<Definition>, DefinitionError> = entries.iter().map(loading::decode).collect();
    let mut definitions = definitions.map_err(|error| wrong(error.to_string()))?;
    let logged = loading::logged_queues(&definitions);
    let is_known = |queue| logged.contains_key(&queue);
    let last_id = logged.keys().copied().max().unwrap_or(0);
    let limits = (Arc::clone(&account), config.disk_free_limit);
    let (messages, recovered) =
        Messages::open(&directory, config.store_sync_delay(), is_known, last_id, limits)?;
    let given = loading::give_ids(&mut definitions, &messages);
    let kinds: Vec<Kind> = store.kinds().iter().filter_map(|kind| Kind::of_number(kind.number())).collect();
    let mut node = Node::new(config, account, Journal::on(store), Some(messages))?;
    node.id = directory.node_id();
    // Queues without an owner are deleted behind this.
    drop(node.journal.commit(&given));
    restoring::restore(&node, definitions, &kinds).map_err(wrong)?;
    virtual_hosts::all(&node).iter().for_each(|host| taking_effect::apply(&node, host));
    loading::load(&node, &recovered, &logged);
    add_first_definitions(&node, config)?;
    // A node whose first definitions cannot be written would be a different one after a crash.
    node.journal.flush().map_err(|error| BootError::Unwritten(error.to_string()))?;
    Ok(node)
}

/// Adds the objects that exist at each start, and the first objects of a node without definitions. Deletes the users that the
/// configuration no longer names.
fn add_first_definitions(node: &Node, config: &NodeConfig) -> Result<(), BootError> {
    // Users are deleted before users are added: a new user may have the key of a deleted user.
    configured_users::delete_gone(node, config)?;
    if let Some(path) = &config.load_definitions {
        load(node, path)?;
    }
    let mut names = config.amqp.virtual_hosts.clone();
    if virtual_hosts::all(node).is_empty() {
        names.push(config.default_virtual_host.clone());
    }
    for name in names.iter().filter(|name| node.hosts.find(name).is_none()) {
        let host = VirtualHostDefinition { name: name.clone(), ..VirtualHostDefinition::default() };
        virtual_hosts::put(node, host, None)?;
    }
    configured_users::put(node, config)?;
    check_anonymous_user(node, config);
    Ok(())
}

/// Warns if the user for clients without credentials does not exist. Such clients are refused until it does.
fn check_anonymous_user(node: &Node, config: &NodeConfig) {
    if let Some(name) = &config.amqp.anonymous_user
        && users::find(node, name).is_err()
    {
        log::warn!(
            "amqp.anonymous_user: there is no user '{name}'; clients without credentials are refused until there is"
        );
    }
}

/// Applies newly configured users and limits. Users that the configuration no longer names are deleted.
///
/// # Errors
///
/// A user is invalid. Users before it have changed.
pub fn reload(node: &Node, config: &NodeConfig) -> Result<(), BootError> {
    configured_users::delete_gone(node, config)?;
    configured_users::put(node, config)?;
    check_anonymous_user(node, config);
    node.access.set_login_rules(config.login_rules());
    node.set_limits(&config.amqp);
    Ok(())
}

/// Imports a file of definitions.
fn load(node: &Node, path: &Path) -> Result<(), BootError> {
    let wrong = |reason: String| BootError::Definition { place: path.into(), reason };
    let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let document = read_document(&text, None).map_err(|error| wrong(error.to_string()))?;
    // Items that are refused are in the log, and do not keep the node from its start.
    importing::import(node, document, By::Node).map_err(|error| wrong(error.to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::access::Peer;
    use crate::config::AmqpConfig;
    use crate::operator::queues;

    /// fancy-regex takes this pattern and panics when it matches.
    const BAD: &str = "(?(1))";

    fn definition<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_pattern_that_an_older_node_took_matches_nothing() {
        let folder = std::env::temp_dir().join(format!("hairstreak-patterns-{}", std::process::id()));
        let config = NodeConfig { data_dir: Some(folder.clone()), ..NodeConfig::default() };
        let node = open(&config).unwrap();
        let policy = json!({"vhost": "/", "name": "p", "pattern": BAD, "definition": {"expires": 100_000}});
        node.put(Definition::Policy(definition(policy)));
        let row = json!({"user": "guest", "vhost": "/", "configure": BAD, "write": "", "read": ".*"});
        node.put(Definition::Permission(definition(row)));
        let row = json!({"user": "guest", "vhost": "/", "exchange": "amq.topic", "write": BAD, "read": ".*"});
        node.put(Definition::TopicPermission(definition(row)));
        let queue =
            json!({"name": "q", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {}});
        node.put(Definition::Queue(definition(queue)));
        node.journal.flush().unwrap();
        drop(node);

        let node = open(&config).unwrap();
        let queues = queues::all(&node, "/").unwrap();
        assert_eq!(
            queues.iter().map(|queue| (&*queue.name, queue.policies.user.as_deref())).collect::<Vec<_>>(),
            [(&b"q"[..], None)]
        );
        assert_eq!(taking_effect::all_policies(&node, hairstreak_broker::policy::Scope::User).len(), 1);
        assert_eq!(users::permissions(&node)[0].configure, BAD);
        assert_eq!(users::topic_permissions(&node)[0].write, BAD);
        drop(node);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_node_starts_with_a_file_of_which_it_cannot_have_everything() {
        let path = std::env::temp_dir().join(format!("hairstreak-patterns-{}.json", std::process::id()));
        let policy = json!({"vhost": "/", "name": "p", "pattern": BAD, "definition": {"expires": 100_000}});
        let queue =
            json!({"name": "q", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {}});
        let file = json!({"vhosts": [{"name": "/"}], "policies": [policy], "queues": [queue]});
        fs::write(&path, file.to_string()).unwrap();
        let config = NodeConfig { load_definitions: Some(path.clone()), ..NodeConfig::default() };
        let node = open(&config).unwrap();
        assert_eq!(queues::all(&node, "/").unwrap().len(), 1);
        assert!(taking_effect::all_policies(&node, hairstreak_broker::policy::Scope::User).is_empty());
        fs::write(&path, "{").unwrap();
        let error = open(&config).map(drop).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: the file: ", path.display())), "{error}");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_node_without_its_anonymous_user_starts_and_lets_no_client_in_without_credentials() {
        let config = |name: &str| {
            let amqp = AmqpConfig { anonymous_user: Some(name.into()), ..AmqpConfig::default() };
            NodeConfig { amqp, ..NodeConfig::default() }
        };
        let log_in = |node: &Node| node.access.log_in_anonymously(Peer::local()).is_ok();
        let node = open(&config("guest")).unwrap();
        assert!(log_in(&node));
        reload(&node, &config("bob")).unwrap();
        assert!(!log_in(&node));
        let node = open(&config("bob")).unwrap();
        assert!(!log_in(&node));
        drop(users::put(&node, "bob", users::UserChanges::default(), By::Operator).unwrap());
        assert!(log_in(&node));
    }

    #[test]
    fn a_node_that_has_lost_its_messages_gives_new_queues_ids_of_their_own() {
        let folder = std::env::temp_dir().join(format!("hairstreak-queue-ids-{}", std::process::id()));
        let config = NodeConfig { data_dir: Some(folder.clone()), ..NodeConfig::default() };
        for name in [b"a", b"b"] {
            let node = open(&config).unwrap();
            let declaration = hairstreak_broker::queue::QueueDeclaration {
                name: (*name).into(),
                is_durable: true,
                ..Default::default()
            };
            drop(queues::declare(&node, "/", &declaration).unwrap());
            node.journal.close().unwrap();
            drop(node);
            // The operator begins without messages.
            fs::remove_dir_all(folder.join("messages")).unwrap();
            let text = fs::read_to_string(folder.join("node")).unwrap();
            fs::write(folder.join("node"), text.replace("holds messages\n", "")).unwrap();
        }
        let directory = DataDirectory::open(&folder, &config.node_name).unwrap();
        let (store, entries) = DefinitionStore::open(&directory).unwrap();
        assert_eq!(loading::stored_queues(&entries).unwrap().len(), 2);
        drop((store, directory));
        fs::remove_dir_all(&folder).unwrap();
    }
}
