//! Reading the input, message by message, as far ahead as one batch.
//!
//! - `Identity`: the device and the number of a file, the same by every path.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hairstreak_socket::Message;

use super::error::RunError;
use super::numbering::Names;
use super::patient_file::PatientFile;
use super::tally::Tally;
use crate::topology::definition::{Framing, Input, MESSAGE_SIZE_MAX, Stream};
use crate::topology::framing::read_message;

/// Largest number of files in a folder.
pub(super) const FILES_COUNT_MAX: usize = 1_000_000;
/// Messages of a batch, and its bytes unless a single message has more.
const BATCH_COUNT: usize = 64;
const BATCH_SIZE: usize = 1 << 20;

/// An opened input.
pub(super) enum Reader {
    Generated {
        left: u64,
        message: Message,
    },
    /// `waits`: a read may have to wait for a writer.
    Lines {
        reader: BufReader<PatientFile>,
        path: PathBuf,
        waits: bool,
    },
    Files {
        files: Arc<Vec<PathBuf>>,
        next: usize,
    },
}

impl Reader {
    /// Opens a file, or lists a folder. Opening does not wait. Reading waits only as long as the run is not abandoned.
    pub(super) fn open(input: &Input, tally: &Arc<Tally>) -> Result<Reader, RunError> {
        match input {
            Input::Generated { messages, size } => {
                Ok(Reader::Generated { left: *messages, message: Message::from(vec![b'x'; *size]) })
            }
            Input::Lines(Stream::Standard) => {
                let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
                lines(file.map(|file| PatientFile::new(file, tally)), PathBuf::from("standard input"))
            }
            Input::Lines(Stream::File(path)) => lines(PatientFile::open(path, tally), path.clone()),
            Input::Files { directory, extensions } => {
                let mut files = Vec::new();
                list(directory, extensions, &mut files)?;
                if files.is_empty() {
                    return Err(unreadable(directory, io::Error::other("it has no such file")));
                }
                files.sort();
                Ok(Reader::Files { files: Arc::new(files), next: 0 })
            }
        }
    }

    /// Returns the path of the file with this identity, if the input reads it.
    pub(super) fn file(&self, identity: Identity) -> Option<PathBuf> {
        match self {
            Reader::Generated { .. } => None,
            Reader::Lines { reader, path, .. } => {
                let metadata = reader.get_ref().file().metadata();
                (metadata.ok().and_then(|file| Identity::of(&file)) == Some(identity)).then(|| path.clone())
            }
            Reader::Files { files, .. } => {
                let is_it = |path: &&PathBuf| {
                    fs::metadata(path).ok().and_then(|file| Identity::of(&file)) == Some(identity)
                };
                files.iter().find(is_it).cloned()
            }
        }
    }

    /// Returns the number of messages that follow, if it is known.
    pub(super) fn left(&mut self) -> Result<Option<u64>, RunError> {
        match self {
            Reader::Generated { left, .. } => Ok(Some(*left)),
            Reader::Files { files, next } => Ok(Some((files.len() - *next) as u64)),
            Reader::Lines { waits: true, .. } => Ok(None),
            Reader::Lines { reader, path, .. } => {
                let rest = reader.fill_buf().map_err(|source| unreadable(path, source))?;
                Ok(rest.is_empty().then_some(0))
            }
        }
    }

    /// Adds the next messages. No message means the end. Once there is a message, a pipe is not waited for.
    pub(super) fn fill(&mut self, batch: &mut Vec<Message>) -> Result<(), RunError> {
        let mut size = 0;
        while batch.len() < BATCH_COUNT && size < BATCH_SIZE {
            let Some(message) = self.read()? else { return Ok(()) };
            size += message.size();
            batch.push(message);
            if self.would_wait() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn would_wait(&self) -> bool {
        match self {
            Reader::Lines { reader, waits: true, .. } => !reader.buffer().contains(&b'\n'),
            _ => false,
        }
    }

    fn read(&mut self) -> Result<Option<Message>, RunError> {
        match self {
            Reader::Generated { left: 0, .. } => Ok(None),
            Reader::Generated { left, message } => {
                *left -= 1;
                Ok(Some(message.clone()))
            }
            Reader::Lines { reader, path, .. } => {
                let line = read_message(reader, Framing::Lines);
                Ok(line.map_err(|source| unreadable(path, source))?.map(Message::from))
            }
            Reader::Files { files, next } => {
                let Some(path) = files.get(*next) else { return Ok(None) };
                *next += 1;
                Ok(Some(read_file(path)?))
            }
        }
    }

    /// Returns the names of its messages.
    pub(super) fn names(&self) -> Names {
        match self {
            Reader::Files { files, .. } => Names::Files(Arc::clone(files)),
            _ => Names::Numbered,
        }
    }
}

fn lines(file: io::Result<PatientFile>, path: PathBuf) -> Result<Reader, RunError> {
    let opened = file.and_then(|file| Ok((file.file().metadata()?, file)));
    let (metadata, file) = opened.map_err(|source| unreadable(&path, source))?;
    let reader = BufReader::with_capacity(1 << 16, file);
    Ok(Reader::Lines { reader, path, waits: !metadata.is_file() })
}

fn read_file(path: &Path) -> Result<Message, RunError> {
    let failed = |source| unreadable(path, source);
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > MESSAGE_SIZE_MAX as u64 {
        let reason = format!("it has {size} bytes, a message at most {MESSAGE_SIZE_MAX}");
        return Err(unreadable(path, io::Error::other(reason)));
    }
    fs::read(path).map(Message::from).map_err(failed)
}

/// Adds the files below `directory`. Links to files count as files. Links to folders are not followed, and broken links
/// are passed over.
fn list(directory: &Path, extensions: &[String], files: &mut Vec<PathBuf>) -> Result<(), RunError> {
    let failed = |source| unreadable(directory, source);
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            list(&path, extensions, files)?;
        } else if wanted(&path, extensions) && fs::metadata(&path).is_ok_and(|file| file.is_file()) {
            if files.len() == FILES_COUNT_MAX {
                let reason = format!("more than {FILES_COUNT_MAX} files");
                return Err(unreadable(directory, io::Error::other(reason)));
            }
            files.push(path);
        }
    }
    Ok(())
}

fn wanted(path: &Path, extensions: &[String]) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let has =
        |extension: &String| name.strip_suffix(extension.as_str()).is_some_and(|stem| stem.ends_with('.'));
    extensions.is_empty() || extensions.iter().any(has)
}

fn unreadable(path: &Path, source: io::Error) -> RunError {
    RunError::Input { path: path.to_owned(), source }
}

/// The device and the number of a regular file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Returns `None` for a file that writing could not destroy: a pipe, a terminal.
    pub(super) fn of(file: &Metadata) -> Option<Identity> {
        file.is_file().then(|| Identity { device: file.dev(), inode: file.ino() })
    }
}
