//! `Committer`: commits groups of changes, and keeps what it could not commit. It has no thread and no clock.
//!
//! ```text
//!             commit fails: the group is kept, the database is closed
//!   ┌────────┐ ────────────────────────────────────────────────> ┌─────────┐ <─┐ keep (further groups)
//!   │ sound  │                                                    │ failing │ ──┤ retry fails
//!   └────────┘ <──────────────────────────────────────────────── └─────────┘ <─┘
//!             retry: opened again, and all that was kept is committed in one transaction
//! ```
//!
//! A change is never committed without those before it.

use super::database::{Database, HeldDatabase};
use super::disk::Disk;
use super::entry::{Entry, Kind, Write};
use super::error::StoreError;
use super::kept::Kept;

/// The definitions on a disk.
#[derive(Debug)]
pub(super) struct Committer {
    disk: Box<dyn Disk>,
    /// None while failing, and once closed.
    database: Option<Database>,
    kept: Kept,
    /// The kinds of the file when it was opened.
    kinds: Vec<Kind>,
}

impl Committer {
    /// Opens the definitions. Returns them as they are stored, by kind and key.
    pub fn open(disk: Box<dyn Disk>) -> Result<(Committer, Vec<Entry>), StoreError> {
        let held = HeldDatabase::create(&*disk)?;
        let (kinds, entries) = held.load()?;
        let database = Some(held.release()?);
        Ok((Committer { disk, database, kept: Kept::default(), kinds }, entries))
    }

    /// The kinds of the file when it was opened, those without entries among them.
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

    /// Opens the database again, and commits what is kept. For a failing committer.
    ///
    /// # Errors
    ///
    /// The committer is still failing.
    pub fn retry(&mut self) -> Result<(), StoreError> {
        // A file that is gone by now is not begun anew: the other definitions were in it.
        let database = HeldDatabase::open(&*self.disk)?.release()?;
        let database = self.database.insert(database);
        // The database's contents are on the medium by now: a key that is missing stays missing.
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

    /// The memory of the kept batches, in bytes, about.
    pub fn kept_bytes(&self) -> usize {
        self.kept.bytes()
    }

    /// Closes the database. What is kept is lost.
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
