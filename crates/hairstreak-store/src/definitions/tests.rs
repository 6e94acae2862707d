//! Tests of the definitions without a thread and on disks that fail, and of the thread.

mod closing;
mod damage;
mod disk;
mod groups;
mod model;
mod refusals;
mod workbench;

use super::entry::{Entry, Kind, Write};

/// A change of the key `key` of kind 1.
fn write(key: &str, value: Option<&str>) -> Write {
    Write { kind: Kind::new(1), key: key.into(), value: value.map(Into::into) }
}

/// An entry of kind 1.
fn entry(key: &str, value: &str) -> Entry {
    Entry { kind: Kind::new(1), key: key.into(), value: value.into() }
}
