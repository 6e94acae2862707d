//! Writing the results, in the order they arrive.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use hairstreak_process::PatientOutput;
use hairstreak_socket::Message;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::error::RunError;
use super::input::{Identity, Reader};
use crate::topology::definition::{Framing, Output, Stream};
use crate::topology::framing::write_message;

/// Interval at which a wait for the reader of a pipe checks whether the run goes on.
const LOOK: Duration = Duration::from_millis(50);

/// An opened output.
pub(super) struct Writer {
    /// `None` discards results.
    to: Option<BufWriter<PatientOutput>>,
    framing: Framing,
    path: PathBuf,
    /// A person may be watching.
    live: bool,
}

impl Writer {
    /// Creates the file, or empties it unless it is a file of `input`. Waits for a reader of a pipe until `stopped`
    /// returns an error.
    pub(super) fn open(
        output: &Output,
        input: &Reader,
        stopped: impl Fn() -> Option<RunError>,
    ) -> Result<Writer, RunError> {
        let (stream, framing) = match output {
            Output::Discard => {
                return Ok(Writer { to: None, framing: Framing::Length, path: PathBuf::new(), live: false });
            }
            Output::Write { to, framing } => (to, *framing),
        };
        let (path, live) = match stream {
            Stream::Standard => (PathBuf::from("standard output"), true),
            Stream::File(path) => (path.clone(), false),
        };
        let failed = |source| RunError::Output { path: path.clone(), source };
        let file = match stream {
            Stream::Standard => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Stream::File(path) => loop {
                if let Some(file) = open_if_read(path).transpose() {
                    break file;
                }
                if let Some(error) = stopped() {
                    return Err(error);
                }
                thread::sleep(LOOK);
            },
        };
        let file = file.map_err(failed)?;
        let identity = Identity::of(&file.metadata().map_err(failed)?);
        if let Some(input) = identity.and_then(|identity| input.file(identity)) {
            return Err(RunError::OutputIsInput { path, input });
        }
        if !live && identity.is_some() {
            file.set_len(0).map_err(failed)?;
        }
        Ok(Writer {
            to: Some(BufWriter::with_capacity(1 << 16, PatientOutput::new(file))),
            framing,
            path,
            live,
        })
    }

    /// Writes a batch of results. The first has the number `number`.
    pub(super) fn write(&mut self, batch: &[Message], number: u64) -> Result<(), RunError> {
        let Some(writer) = &mut self.to else { return Ok(()) };
        for (message, number) in batch.iter().zip(number..) {
            if message.frame_count() != 1 {
                return Err(RunError::Message {
                    message: format!("result {number}"),
                    reason: format!("has {} frames, the output takes one", message.frame_count()),
                });
            }
            let written = write_message(writer, self.framing, message.body());
            written.map_err(|source| RunError::Output { path: self.path.clone(), source })?;
        }
        if self.live { self.flush() } else { Ok(()) }
    }

    /// Writes gathered results.
    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        let Some(writer) = &mut self.to else { return Ok(()) };
        writer.flush().map_err(|source| RunError::Output { path: self.path.clone(), source })
    }
}

/// Opens or creates the file. Returns `None` for a pipe without a reader.
fn open_if_read(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let opened = File::options().write(true).create(true).truncate(false).custom_flags(flags).open(path);
    match opened {
        Ok(file) => {
            fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
            Ok(Some(file))
        }
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
            let is_pipe = path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
            if is_pipe { Ok(None) } else { Err(error) }
        }
        Err(error) => Err(error),
    }
}
