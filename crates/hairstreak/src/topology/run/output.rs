//! Writing the results, in the order they arrive.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use hairstreak_socket::Message;

use super::error::RunError;
use crate::topology::definition::{Framing, Output, Stream};
use crate::topology::framing::write_message;

/// An opened output.
pub(super) struct Writer {
    /// `None` discards.
    to: Option<BufWriter<Box<dyn Write + Send>>>,
    framing: Framing,
    path: PathBuf,
    /// Whether someone may be looking.
    live: bool,
}

impl Writer {
    /// Creates the file, or empties it.
    pub(super) fn open(output: &Output) -> Result<Writer, RunError> {
        let (to, framing): (Box<dyn Write + Send>, Framing) = match output {
            Output::Discard => {
                return Ok(Writer { to: None, framing: Framing::Length, path: PathBuf::new(), live: false });
            }
            Output::Write { to: Stream::Standard, framing } => (Box::new(io::stdout()), *framing),
            Output::Write { to: Stream::File(path), framing } => {
                let failed = |source| RunError::Output { path: path.clone(), source };
                (Box::new(File::create(path).map_err(failed)?), *framing)
            }
        };
        let (path, live) = match output {
            Output::Write { to: Stream::File(path), .. } => (path.clone(), false),
            _ => (PathBuf::from("standard output"), true),
        };
        Ok(Writer { to: Some(BufWriter::with_capacity(1 << 16, to)), framing, path, live })
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
