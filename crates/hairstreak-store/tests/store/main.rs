//! The store on real disks: directories with their locks, processes that are killed, disks that are full or read-only.

mod deaths;
mod directory;
mod disks;
mod place;
mod soak;
mod upgrade;

use std::time::Duration;

use hairstreak_store::{DataDirectory, DefinitionStore, Entry, Kind, StoreError, Write};

/// The node of every test that does not care.
const NODE: &str = "rabbit@test";
/// Nothing here takes so long unless it hangs.
const LONG: Duration = Duration::from_secs(60);

/// A change of the key `key` of kind 1.
fn write(key: &str, value: Option<&str>) -> Write {
    Write { kind: Kind::new(1), key: key.into(), value: value.map(Into::into) }
}

/// An entry of kind 1.
fn entry(key: &str, value: &str) -> Entry {
    Entry { kind: Kind::new(1), key: key.into(), value: value.into() }
}

/// Submits a batch and waits for its answer.
fn commit(store: &DefinitionStore, batch: Vec<Write>) -> Result<(), String> {
    let (sender, answer) = std::sync::mpsc::channel();
    store.submit(batch, move |outcome| sender.send(outcome.map_err(|error| error.to_string())).unwrap());
    answer.recv_timeout(LONG).unwrap()
}

/// Opens a directory and what is stored there.
fn open(place: &std::path::Path) -> Result<(DataDirectory, DefinitionStore, Vec<Entry>), StoreError> {
    let directory = DataDirectory::open(place, NODE).unwrap_or_else(|error| panic!("{error}"));
    let (store, entries) = DefinitionStore::open(&directory)?;
    Ok((directory, store, entries))
}
