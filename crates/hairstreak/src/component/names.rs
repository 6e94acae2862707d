//! The names of this process: one table for the names of each component, of the process, and of the process in each
//! directory.
//!
//! Entries are weak: a name disappears with the last handle of its exchange or queue.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use hairstreak_base::process::PerProcess;

use super::object::Object;

/// The components that can find the name of an exchange or a queue. Names are looked up in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// The component that opened it.
    #[default]
    Local,
    /// Every component of the process.
    Process,
    /// Every component that uses the same directory. The exchange or queue listens for connections.
    Global,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Local => "local",
            Scope::Process => "process",
            Scope::Global => "global",
        })
    }
}

/// The space in which a name is unique.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Space {
    /// The component with this number.
    Component(u64),
    Process,
    /// The directory at this endpoint.
    Directory(Box<str>),
}

/// A name in its space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(super) space: Space,
    pub(super) name: Box<str>,
}

type Table = HashMap<Key, Weak<Object>>;

static TABLE: PerProcess<Mutex<Table>> = PerProcess::new();
static APPEARED: Condvar = Condvar::new();

fn table() -> MutexGuard<'static, Table> {
    TABLE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enters `object` under all of `keys`. If a key is taken, enters nothing and returns that key.
pub(super) fn claim(keys: &[Key], object: &Arc<Object>) -> Result<(), Key> {
    let mut table = table();
    let taken = keys.iter().find(|key| table.get(key).is_some_and(|there| there.strong_count() > 0));
    if let Some(taken) = taken {
        return Err(taken.clone());
    }
    for key in keys {
        table.insert(key.clone(), Arc::downgrade(object));
    }
    APPEARED.notify_all();
    Ok(())
}

/// Removes the entries of `keys` whose objects are closed.
pub(super) fn release(keys: &[Key]) {
    let mut table = table();
    for key in keys {
        if table.get(key).is_some_and(|there| there.strong_count() == 0) {
            table.remove(key);
        }
    }
}

/// Returns the object under the first of `keys` that has an object.
pub(super) fn find(keys: &[Key]) -> Option<Arc<Object>> {
    find_in(&table(), keys)
}

/// Does the same as [`find`], and waits until an object appears or `deadline` passes.
pub(super) fn wait_for(keys: &[Key], deadline: Instant) -> Option<Arc<Object>> {
    let mut table = table();
    loop {
        let found = find_in(&table, keys);
        let left = deadline.saturating_duration_since(Instant::now());
        if found.is_some() || left.is_zero() {
            return found;
        }
        table = APPEARED.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn find_in(table: &Table, keys: &[Key]) -> Option<Arc<Object>> {
    keys.iter().find_map(|key| table.get(key)?.upgrade())
}
