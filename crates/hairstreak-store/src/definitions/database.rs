//! `Database`: the definitions in a redb database, a table for each kind.
//!
//! A file is opened in two steps. [`HeldDatabase::create`] or [`HeldDatabase::open`] checks every page and writes
//! nothing.
//! [`HeldDatabase::release`] then makes the changes that opening caused, such as the end of a recovery from a crash.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use redb::backends::InMemoryBackend;
use redb::{
    Builder, Durability, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    TableError, TableHandle,
};

use super::disk::Disk;
use super::entry::{Entry, Kind};
use super::error::StoreError;
use super::file::DefinitionFile;

/// Size of redb's cache, in bytes.
const CACHE_BYTES_MAX: usize = 16 << 20;

type Table<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;

/// The key, and the value. `None` removes the key.
type KeyChange<'a> = (&'a [u8], Option<&'a [u8]>);
/// The kind, the key, and the value. `None` removes the key.
pub(super) type Change<'a> = (Kind, &'a [u8], Option<&'a [u8]>);

/// A checked database to which nothing was written yet.
#[derive(Debug)]
pub(super) struct HeldDatabase(Database);

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    redb: redb::Database,
    file: DefinitionFile,
    path: PathBuf,
}

impl HeldDatabase {
    /// Opens the file on `disk`. A missing file is created first, without entries.
    pub fn create(disk: &dyn Disk) -> Result<HeldDatabase, StoreError> {
        let failed = |error| StoreError::of_system(disk.file(), error);
        if disk.open().map_err(failed)?.is_none() {
            disk.create(&empty_database(disk)?).map_err(failed)?;
        }
        HeldDatabase::open(disk)
    }

    /// Opens the file on `disk`. A missing file is an error.
    pub fn open(disk: &dyn Disk) -> Result<HeldDatabase, StoreError> {
        let path = disk.file();
        let failed = |error| StoreError::of_system(path, error);
        let inner = disk.open().map_err(failed)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        if inner.len().map_err(failed)? == 0 {
            // redb takes an empty file for a new database.
            return Err(StoreError::Damaged { file: path.to_owned(), reason: "it is empty".into() });
        }
        let file = DefinitionFile::hold(inner);
        let opened = guarded(|| Ok(builder().create_with_backend(file.clone())?));
        let redb = opened.map_err(|error| StoreError::of_database(path, file.take_fault(), error))?;
        Ok(HeldDatabase(Database { redb, file, path: path.to_owned() }))
    }

    /// Returns the kinds, and all stored entries by kind and key.
    pub fn load(&self) -> Result<(Vec<Kind>, Vec<Entry>), StoreError> {
        let database = &self.0;
        guarded(|| load(&database.redb))
            .map_err(|error| StoreError::of_database(&database.path, database.file.take_fault(), error))
    }

    /// Makes the held changes.
    pub fn release(self) -> Result<Database, StoreError> {
        match guarded(|| Ok(self.0.file.release()?)) {
            Ok(()) => Ok(self.0),
            Err(error) => Err(self.0.fail(error)),
        }
    }
}

impl Database {
    /// Commits the changes in one transaction, in their order. They are on the medium when this returns.
    ///
    /// # Errors
    ///
    /// The database is unusable from then on: [`Database::fail`] gives the reason. Either all of the changes are on
    /// the medium or none.
    pub fn commit<'a>(&self, changes: impl Iterator<Item = Change<'a>>) -> Result<(), redb::Error> {
        guarded(|| commit(&self.redb, changes))
    }

    /// Returns a function that says whether a key has a value. The function sees the last commit before this call.
    pub fn reader(&self) -> Result<impl Fn(Kind, &[u8]) -> bool + use<>, redb::Error> {
        let transaction = guarded(|| Ok(self.redb.begin_read()?))?;
        // A key that cannot be read may exist.
        Ok(move |kind: Kind, key: &[u8]| guarded(|| is_stored(&transaction, kind, key)).unwrap_or(true))
    }

    /// Closes the database that `error` came from. Returns the system's reason, if the system refused anything.
    pub fn fail(self, error: redb::Error) -> StoreError {
        let Database { redb, file, path } = self;
        // Without this, redb might close the file as after a success.
        file.refuse();
        let _ = guarded(|| {
            drop(redb);
            Ok(())
        });
        StoreError::of_database(&path, file.take_fault(), error)
    }

    /// Closes the database. All commits are on the medium already. The next opening recovers from any write that
    /// fails now.
    pub fn close(self) {
        let _ = guarded(|| Ok(self.redb.close()?));
    }
}

fn builder() -> Builder {
    let mut builder = redb::Database::builder();
    builder.set_cache_size(CACHE_BYTES_MAX).set_check_integrity_on_open(true);
    builder
}

/// The bytes of a database without entries.
fn empty_database(disk: &dyn Disk) -> Result<Vec<u8>, StoreError> {
    let made = guarded(|| {
        let file = DefinitionFile::hold(Box::new(InMemoryBackend::new()));
        file.release()?;
        builder().create_with_backend(file.clone())?.close()?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read(0, &mut bytes)?;
        Ok(bytes)
    });
    made.map_err(|error| StoreError::of_database(disk.file(), None, error))
}

fn load(database: &redb::Database) -> Result<(Vec<Kind>, Vec<Entry>), redb::Error> {
    let transaction = database.begin_read()?;
    let mut entries = Vec::new();
    let mut kinds = Vec::new();
    for table in transaction.list_tables()? {
        let name = table.name();
        let kind = Kind::of_table(name);
        kinds.push(kind.ok_or_else(|| {
            redb::Error::Corrupted(format!("a table is called \"{}\"", name.escape_debug()))
        })?);
    }
    kinds.sort_unstable();
    for &kind in &kinds {
        for entry in transaction.open_table(Table::new(&kind.table()))?.iter()? {
            let (key, value) = entry?;
            entries.push(Entry { kind, key: key.value().to_vec(), value: value.value().to_vec() });
        }
    }
    Ok((kinds, entries))
}

fn is_stored(transaction: &ReadTransaction, kind: Kind, key: &[u8]) -> Result<bool, redb::Error> {
    match transaction.open_table(Table::new(&kind.table())) {
        Ok(table) => Ok(table.get(key)?.is_some()),
        Err(TableError::TableDoesNotExist(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn commit<'a>(
    database: &redb::Database,
    changes: impl Iterator<Item = Change<'a>>,
) -> Result<(), redb::Error> {
    let mut by_kind: BTreeMap<Kind, Vec<KeyChange<'a>>> = BTreeMap::new();
    for (kind, key, value) in changes {
        by_kind.entry(kind).or_default().push((key, value));
    }
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    // Two syncs: the second is for the byte that makes the commit the last one. With one sync, redb would take a
    // damaged page of the last commit for a commit cut off by a crash, and go back to the commit before.
    // After a refused sync it would accept a commit whose pages are in the page cache and not on the medium.
    transaction.set_two_phase_commit(true);
    for (kind, changes) in by_kind {
        let mut table = transaction.open_table(Table::new(&kind.table()))?;
        for (key, value) in changes {
            match value {
                Some(value) => table.insert(key, value)?,
                None => table.remove(key)?,
            };
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Calls redb. A panic counts as a damaged file: redb does not promise that a checked file causes none.
fn guarded<T>(call: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        Err(redb::Error::Corrupted(format!("redb panicked: {}", message_of(&*panic))))
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
