//! `Output`: the destination of messages. A successful `flush` has written all messages put before. After a failure every
//! later `flush` fails.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use hairstreak_amqp::Content;
use hairstreak_process::{Framing, PatientOutput};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::arguments::OutputArguments;
use crate::amqp::value::to_record;
use crate::failure::Failure;

/// The number of bytes that are gathered for one write.
const BUFFER_SIZE: usize = 128 * 1024;

/// The destination of messages.
pub struct Output {
    is_json: bool,
    to: To,
}

enum To {
    Stream { file: PatientOutput, framing: Option<Framing>, gathered: Vec<u8>, has_failed: bool },
    Folder { path: PathBuf, number: u64 },
}

impl Output {
    pub fn open(arguments: &OutputArguments) -> Result<Output, Failure> {
        let to = match &arguments.output {
            Some(path) => {
                fs::create_dir_all(path).map_err(|error| unwritable(path, &error))?;
                To::Folder { path: path.clone(), number: 1 }
            }
            None => {
                let file = PatientOutput::standard_output().map_err(|error| stream_failure(&error))?;
                To::Stream { file, framing: arguments.framing(), gathered: Vec::new(), has_failed: false }
            }
        };
        Ok(Output { is_json: arguments.json, to })
    }

    /// Takes a message.
    pub fn put(&mut self, content: Content, is_redelivered: bool) -> Result<(), Failure> {
        let body = match self.is_json {
            true => to_record(content, is_redelivered)
                .map_err(|error| Failure::failed(format!("a message has malformed properties: {error}")))?,
            false => content.body,
        };
        match &mut self.to {
            To::Folder { path, number } => {
                let suffix = if self.is_json { ".json" } else { "" };
                write_file(path, number, suffix, &body).map_err(|error| unwritable(path, &error))
            }
            To::Stream { framing, gathered, .. } => {
                match framing {
                    Some(framing) => framing.write(gathered, &body),
                    None => gathered.extend_from_slice(&body),
                }
                if gathered.len() >= BUFFER_SIZE { self.flush() } else { Ok(()) }
            }
        }
    }

    /// Writes the gathered bytes.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let To::Stream { file, gathered, has_failed, .. } = &mut self.to else { return Ok(()) };
        if *has_failed {
            // The failure has been reported. Later bytes cannot be written after the gap.
            return Err(Failure::quiet(1));
        }
        let written = file.write_all(gathered);
        *has_failed = written.is_err();
        gathered.clear();
        written.map_err(|error| stream_failure(&error))
    }
}

/// Writes a new file, which appears whole. An existing file is never replaced.
fn write_file(folder: &Path, number: &mut u64, suffix: &str, body: &[u8]) -> io::Result<()> {
    let unfinished = folder.join(format!(".hairstreak-{}", std::process::id()));
    fs::write(&unfinished, body)?;
    loop {
        let file = folder.join(format!("{number:06}{suffix}"));
        *number += 1;
        match renameat_with(CWD, &unfinished, CWD, &file, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            done => return done.inspect_err(|_| drop(fs::remove_file(&unfinished))).map_err(Into::into),
        }
    }
}

fn stream_failure(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::unread(),
        _ => Failure::failed(format!("cannot write to standard output: {error}")),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot write to {}: {error}", path.display()))
}
