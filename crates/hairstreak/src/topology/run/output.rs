//! Writing the results, in the order they arrive.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use hairstreak_socket::Message;

use super::error::RunError;
use super::identity::Identity;
use super::input::Reader;
use crate::topology::definition::{Framing, Output, Stream};
use crate::topology::framing::write_message;

/// An opened output.
pub(super) struct Writer {
    /// `None` discards.
    to: Option<BufWriter<File>>,
    framing: Framing,
    path: PathBuf,
    /// Whether someone may be looking.
    live: bool,
}

impl Writer {
    /// Creates the file, or empties it unless it is one of `input`'s.
    pub(super) fn open(output: &Output, input: &Reader) -> Result<Writer, RunError> {
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
            Stream::File(path) => File::options().write(true).create(true).truncate(false).open(path),
        };
        let file = file.map_err(failed)?;
        let identity = Identity::of(&file.metadata().map_err(failed)?);
        if let Some(input) = identity.and_then(|identity| input.file(identity)) {
            return Err(RunError::OutputIsInput { path, input });
        }
        if !live && identity.is_some() {
            file.set_len(0).map_err(failed)?;
        }
        Ok(Writer { to: Some(BufWriter::with_capacity(1 << 16, file)), framing, path, live })
    }

    /// Writes a batch of results, the first of them number `number`.
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

    /// Writes what is still held back.
    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        let Some(writer) = &mut self.to else { return Ok(()) };
        writer.flush().map_err(|source| RunError::Output { path: self.path.clone(), source })
    }
}
