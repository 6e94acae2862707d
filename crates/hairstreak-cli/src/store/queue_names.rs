//! `QueueNames`: the names of the queues of a data directory, by their ids in the message log.

use std::collections::HashMap;
use std::path::Path;

use hairstreak_node::operator::{QueueName, stored_queues};
use hairstreak_store::log::{LogError, StoredLog};
use hairstreak_store::{DefinitionStore, DirectoryReader};
use serde::Serialize;

use crate::failure::Failure;
use crate::line::one_line;

/// Names of queues. A queue that is deleted, or lost with its definition, has an id only.
#[derive(Debug, Default)]
pub struct QueueNames(HashMap<u64, QueueName>);

/// A queue in JSON.
#[derive(Debug, Serialize)]
pub struct NamedQueue {
    pub id: u64,
    pub vhost: Option<String>,
    pub name: Option<String>,
}

/// Opens the message log of a data directory, and keeps a node out until the directory is dropped.
pub fn open(path: &Path) -> Result<(DirectoryReader, StoredLog), Failure> {
    let directory = DirectoryReader::open(path).map_err(Failure::usage)?;
    let log = StoredLog::open(&directory).map_err(|error| match error {
        // The log is lost: the most that damage can do.
        LogError::Missing { .. } => Failure::failed(error),
        _ => Failure::usage(error),
    })?;
    Ok((directory, log))
}

impl QueueNames {
    /// Reads the names from the definitions. The error is the line that a start of the node has.
    pub fn read(directory: &DirectoryReader) -> Result<QueueNames, String> {
        let entries = DefinitionStore::read(directory).map_err(|error| error.to_string())?;
        let queues = stored_queues(&entries);
        queues.map(QueueNames).map_err(|error| format!("{}: {error}", directory.path().display()))
    }

    pub fn is_known(&self, id: u64) -> bool {
        self.0.contains_key(&id)
    }

    /// Returns the id of a queue.
    pub fn find(&self, vhost: &str, name: &str) -> Option<u64> {
        let is_it = |(of, found): &QueueName| of == vhost && **found == *name.as_bytes();
        self.0.iter().find(|(_, queue)| is_it(queue)).map(|(id, _)| *id)
    }

    /// Returns a queue for people.
    pub fn describe(&self, id: u64) -> String {
        let queue = self.json(id);
        match queue.name.zip(queue.vhost) {
            Some((name, vhost)) => format!("queue {id} '{}' in '{}'", one_line(&name), one_line(&vhost)),
            None => format!("queue {id} without a definition"),
        }
    }

    /// Returns a queue for programs.
    pub fn json(&self, id: u64) -> NamedQueue {
        let queue = self.0.get(&id);
        let name = queue.map(|(_, name)| String::from_utf8_lossy(name).into_owned());
        NamedQueue { id, vhost: queue.map(|(vhost, _)| vhost.clone()), name }
    }
}
