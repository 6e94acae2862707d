//! `Stop`: ends the program from any thread, with its commands, and with no result torn.

use std::path::PathBuf;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_process::Children;

use crate::failure::Failure;
use crate::output::note;

/// The time limit for a write to an output without a reader, at the end of the program. It holds for each of the two
/// outputs.
const WRITE_WITHIN: Duration = Duration::from_millis(500);
/// The time between two tries.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
struct Shared {
    children: Children,
    /// Held while results are written.
    pen: Mutex<()>,
    /// Files to remove at the end, because their sockets are not closed.
    files: Mutex<Vec<PathBuf>>,
    is_ending: AtomicBool,
}

/// Ends the program; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

impl Stop {
    pub fn children(&self) -> &Children {
        &self.0.children
    }

    /// Adds files to remove at the end.
    pub fn remove(&self, files: Vec<PathBuf>) {
        self.files().extend(files);
    }

    fn files(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while results are written.
    pub fn pen(&self) -> MutexGuard<'_, ()> {
        self.0.pen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the commands, lets a write under way finish, reports the reason, and ends the program. A second caller
    /// waits for that end.
    pub fn end(&self, failure: &Failure) -> ! {
        if self.0.is_ending.swap(true, Ordering::SeqCst) {
            loop {
                thread::park();
            }
        }
        self.0.children.stop();
        for file in self.files().drain(..) {
            // The file may not exist.
            let _ = std::fs::remove_file(file);
        }
        let deadline = Instant::now() + WRITE_WITHIN;
        let _pen = loop {
            match self.0.pen.try_lock() {
                Ok(pen) => break Some(pen),
                Err(TryLockError::Poisoned(pen)) => break Some(pen.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => break None,
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK_INTERVAL),
            }
        };
        if let Some(line) = failure.line() {
            let (said, is_said) = mpsc::channel();
            let say = move || {
                note(&line);
                let _ = said.send(());
            };
            if thread::Builder::new().name("last words".into()).spawn(say).is_ok() {
                let _ = is_said.recv_timeout(WRITE_WITHIN);
            }
        }
        exit(failure.status.into());
    }

    /// Ends the program at once.
    pub fn end_at_once(&self, status: u8) -> ! {
        self.0.children.kill_all();
        exit(status.into());
    }
}
