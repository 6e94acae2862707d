//! The disk of the limit: the bytes of publishes go to a file and are synced, then their publishers have their confirms.
//!
//! One sync is in flight at a time. What comes meanwhile is one group, which a thread of its own writes. A message that
//! comes alone is written by the thread that read it: a lone publisher waits for no other thread.

use std::fs::File;
use std::io::Write;
use std::mem;
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hairstreak_wire::amqp::ack_frame;

use super::super::amqp::CHANNEL;
use crate::frame::disk::create_zeroed;

/// Bytes of the file. Behind its end the file is written again from its start.
const FILE_SIZE: usize = 64 << 20;

/// The file, and what waits for it.
#[derive(Debug)]
pub struct Disk {
    file: File,
    /// Time that each sync takes longer.
    sync_delay: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    group: Group,
    is_syncing: bool,
    /// The place of the next group in the file.
    offset: usize,
}

/// Bytes of publishes, and the connections that wait for their confirms, each with its last tag.
#[derive(Debug, Default)]
struct Group {
    bytes: Vec<u8>,
    waiting: Vec<(Arc<TcpStream>, u64)>,
}

impl Disk {
    /// Creates the file, whose zeros are written, and starts the thread.
    pub fn open(path: &Path, sync_delay: Duration) -> Result<Arc<Disk>> {
        let file = create_zeroed(path, FILE_SIZE).context("the file of the limit")?;
        let disk = Disk { file, sync_delay, state: Mutex::default(), changed: Condvar::new() };
        let disk = Arc::new(disk);
        let of_thread = Arc::clone(&disk);
        thread::spawn(move || {
            if let Err(error) = of_thread.run() {
                // The clients' connections end with this process.
                eprintln!("hairstreak-bench: the disk of the limit: {error:#}");
                std::process::exit(1);
            }
        });
        Ok(disk)
    }

    /// Takes the bytes of publishes. `publisher` gets its confirm of `tag` when they are synced.
    pub fn store(&self, bytes: &mut Vec<u8>, publisher: &Arc<TcpStream>, tag: u64, count: u64) -> Result<()> {
        let mut state = self.state();
        state.group.bytes.append(bytes);
        state.group.waiting.push((Arc::clone(publisher), tag));
        if !state.is_syncing && count == 1 {
            state = self.write_group(state)?;
        }
        if !state.is_syncing && !state.group.waiting.is_empty() {
            self.changed.notify_one();
        }
        Ok(())
    }

    fn run(&self) -> Result<()> {
        let mut state = self.state();
        loop {
            state = match state.is_syncing || state.group.waiting.is_empty() {
                true => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                false => self.write_group(state)?,
            };
        }
    }

    /// Writes and syncs what waits, and confirms it.
    fn write_group<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>> {
        let Group { bytes, waiting } = mem::take(&mut state.group);
        ensure!(bytes.len() <= FILE_SIZE, "a group that is larger than the file");
        let offset = if state.offset + bytes.len() > FILE_SIZE { 0 } else { state.offset };
        (state.offset, state.is_syncing) = (offset + bytes.len(), true);
        drop(state);
        self.file.write_all_at(&bytes, offset as u64)?;
        self.file.sync_data()?;
        thread::sleep(self.sync_delay);
        for (publisher, tag) in waiting {
            // A publisher may have gone.
            let _ = publisher.as_ref().write_all(&ack_frame(CHANNEL, tag, true));
        }
        let mut state = self.state();
        state.is_syncing = false;
        Ok(state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
