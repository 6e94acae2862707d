//! `Committer`: commits groups of changes, and keeps the changes of failed commits. It has no thread and no clock.
//!
//! ```text
//!             commit fails: the group is kept, the database is closed
//!   ┌────────┐ ────────────────────────────────────────────────> ┌─────────┐ <─┐ keep (further groups)
//!   │ sound  │                                                    │ failing │ ──┤ retry fails
//!   └────────┘ <──────────────────────────────────────────────── └─────────┘ <─┘
//!             retry: opened again, and all kept changes are committed in one transaction
//! ```
//!
//! A change is never committed without the changes before it.

use super::database::{Database, HeldDatabase};
use super::disk::Disk;
use super::entry::{Entry, Kind, Write};
use super::error::StoreError;
use super::kept::Kept;

/// The definitions on a disk.
#[derive(Debug)]
pub(super) struct Committer {
    disk: Box<dyn Disk>,
    /// `None` while failing, and after closing.
    database: Option<Database>,
    kept: Kept,
    /// Kinds in the file when it was opened.
    kinds: Vec<Kind>,
}

impl Committer {
    /// Opens the definitions. Returns the stored definitions, by kind and key.
    pub fn open(disk: Box<dyn Disk>) -> Result<(Committer, Vec<Entry>), StoreError> {
        let held = HeldDatabase::create(&*disk)?;
        let (kinds, entries) = held.load()?;
        let database = Some(held.release()?);
        Ok((Committer { disk, database, kept: Kept::default(), kinds }, entries))
    }

    /// Returns the kinds that the file had when it was opened, including kinds without entries.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Commits the batches in one transaction. They are on the medium when this returns.
    ///
    /// # Errors
    ///
    /// The committer is failing, and has kept the batches.
    pub fn commit(&mut self, batches: Vec<Vec<Write>>) -> Result<(), StoreError> {
        if batches.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let Some(database) = &self.database else {
            self.keep(batches);
            return self.retry();
        };
        let changes = batches.iter().flatten();
        let changes = changes.map(|write| (write.kind, &*write.key, write.value.as_deref()));
        match database.commit(changes) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.keep(batches);
                Err(self.fail(error))
            }
        }
    }

    /// Keeps batches for the next [`Committer::retry`].
    pub fn keep(&mut self, batches: Vec<Vec<Write>>) {
        self.kept.extend(batches.into_iter().flatten());
    }

    /// Opens the database again, and commits the kept changes. Called on a failing committer.
    ///
    /// # Errors
    ///
    /// The committer is still failing.
    pub fn retry(&mut self) -> Result<(), StoreError> {
        // A file that has disappeared is not created again: it held the other definitions.
        let database = HeldDatabase::open(&*self.disk)?.release()?;
        let database = self.database.insert(database);
        // The contents of the database are on the medium now, so a missing key stays missing.
        let committed = match database.reader() {
            Ok(is_stored) => {
                self.kept.forget_removals(is_stored);
                if self.kept.is_empty() { Ok(()) } else { database.commit(self.kept.iter()) }
            }
            Err(error) => Err(error),
        };
        match committed {
            Ok(()) => {
                self.kept.clear();
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Returns the approximate memory of the kept batches, in bytes.
    pub fn kept_bytes(&self) -> usize {
        self.kept.bytes()
    }

    /// Closes the database. The kept changes are lost.
    pub fn close(&mut self) {
        self.kept.clear();
        if let Some(database) = self.database.take() {
            database.close();
        }
    }

    fn fail(&mut self, error: redb::Error) -> StoreError {
        // INVARIANT: the error came from the open database.
        let database = self.database.take().expect("the database is open");
        database.fail(error)
    }
}
