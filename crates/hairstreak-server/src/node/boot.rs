//! The start of a node: the definitions of the data directory take effect before anybody can connect.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use hairstreak_store::{DataDirectory, DataDirectoryError, DefinitionStore, Entry, StoreError};
use thiserror::Error;

use super::journal::Journal;
use super::node::Node;
use super::options::AmqpOptions;
use super::recording::from_definition;
use crate::definitions::{Change, Definition, DefinitionError, Kind, VirtualHostDefinition};

/// The place of a node's definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlace {
    /// The data directory.
    pub path: PathBuf,
    /// The name of the node. A directory belongs to the node that made it.
    pub node_name: String,
}

/// Why a node cannot start from its data directory.
#[derive(Debug, Error)]
pub enum BootError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DataDirectoryError),
    /// The definitions cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The first definitions of a new directory cannot be written.
    #[error(transparent)]
    FirstDefinitions(#[from] Arc<StoreError>),
    /// A definition cannot be understood, or does not fit the others.
    #[error("{}: {reason}", place.display())]
    Definition {
        /// The data directory.
        place: PathBuf,
        /// The definition, and the error.
        reason: String,
    },
}

impl Node {
    /// A node with the definitions of its data directory, or without one.
    ///
    /// # Errors
    ///
    /// The directory cannot be used, or a definition in it cannot take effect.
    pub fn open(options: &AmqpOptions, data: Option<&DataPlace>) -> Result<Node, BootError> {
        let Some(data) = data else {
            let node = Node::new(options, Journal::Off);
            node.add_first_hosts(options);
            return Ok(node);
        };
        let directory = DataDirectory::open(&data.path, &data.node_name)?;
        let (store, entries) = DefinitionStore::open(&directory)?;
        let wrong = |reason: String| BootError::Definition { place: data.path.clone(), reason };
        let definitions: Result<Vec<Definition>, DefinitionError> = entries.iter().map(decode).collect();
        let mut definitions = definitions.map_err(|error| wrong(error.to_string()))?;
        definitions.sort_by_key(|definition| definition.place().kind);
        let node = Node::new(options, Journal::On(store));
        for definition in definitions {
            node.restore(definition).map_err(wrong)?;
        }
        node.add_first_hosts(options);
        node.hosts.all().iter().for_each(|host| host.lock().host.changes_mut().record(true));
        Ok(node)
    }

    /// Has a stored definition take effect. Returns the reason if it cannot.
    fn restore(&self, definition: Definition) -> Result<(), String> {
        let now = self.clock.millis(Instant::now());
        match definition {
            Definition::VirtualHost(host) => {
                self.add_host(&host.name);
                self.catalog.put(Definition::VirtualHost(host));
                Ok(())
            }
            definition @ (Definition::Exchange(_) | Definition::Queue(_) | Definition::Binding(_)) => {
                let text = definition.describe();
                let Some((name, change)) = from_definition(definition) else { return Ok(()) };
                let host =
                    self.hosts.find(&name).ok_or_else(|| format!("{text}: there is no vhost '{name}'"))?;
                let restored = host.lock().host.changes_mut().restore(&change, now);
                restored.map_err(|refusal| format!("{text}: {refusal}"))
            }
            other => {
                self.catalog.put(other);
                Ok(())
            }
        }
    }

    /// Adds the virtual hosts that each start is to find.
    fn add_first_hosts(&self, options: &AmqpOptions) {
        for name in &options.virtual_hosts {
            if self.add_host(name) {
                let host = VirtualHostDefinition { name: name.clone(), ..VirtualHostDefinition::default() };
                // The definition is in the journal before anything that depends on it.
                drop(self.put(Definition::VirtualHost(host)));
            }
        }
    }
}

fn decode(entry: &Entry) -> Result<Definition, DefinitionError> {
    let number = entry.kind.number();
    Definition::decode(Kind::of_number(number).ok_or(DefinitionError::unknown(number))?, &entry.value)
}
