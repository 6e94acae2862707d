//! `PatientFile`: a file whose reader may wait for ever, such as a pipe, in a run that may end meanwhile.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::tally::Tally;

/// Interval at which a wait checks whether the run goes on.
const LOOK: Duration = Duration::from_millis(50);

/// A file whose reader waits until the run is abandoned. Reading it is an error then.
pub(super) struct PatientFile {
    file: File,
    tally: Arc<Tally>,
}

impl PatientFile {
    /// Opens a file without waiting: a pipe may have no writer yet.
    pub(super) fn open(path: &Path, tally: &Arc<Tally>) -> io::Result<PatientFile> {
        // A pipe without a writer is at its end for `read`, but `poll` waits for the first one.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        Ok(PatientFile::new(file, tally))
    }

    /// Takes a file that is open already, perhaps in other processes too.
    pub(super) fn new(file: File, tally: &Arc<Tally>) -> PatientFile {
        PatientFile { file, tally: Arc::clone(tally) }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Waits a moment. Returns whether there is something to read, or the end.
    fn is_ready(&self) -> io::Result<bool> {
        let mut files = [PollFd::new(&self.file, PollFlags::IN)];
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
        match poll(&mut files, Some(&look)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            ready => Ok(ready? > 0),
        }
    }
}

impl Read for PatientFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.tally.is_abandoned() {
                return Err(io::Error::other("the run has ended"));
            }
            if !self.is_ready()? {
                continue;
            }
            match self.file.read(buffer) {
                // Another reader was quicker.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}
