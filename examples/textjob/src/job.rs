//! `Job`: the chunks of one run as files, and where results go; gone when the job is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use thiserror::Error;

use crate::corpus::{CHUNK_SIZE, read_chunks};

/// Of so many chunks one is for calibration and no part of the run.
const CALIBRATION_SHARE: usize = 20;
/// Fewer chunks than this are over before they can be measured.
const CHUNK_COUNT_MIN: usize = 40;

/// One run's input on disk.
pub struct Job {
    folder: PathBuf,
    /// How many chunks the run has.
    pub chunk_count: usize,
    /// The chunks that calibration may use.
    pub calibration: Vec<Vec<u8>>,
}

/// Why there is no job.
#[derive(Debug, Error)]
pub enum JobError {
    /// The machine has hardly any text.
    #[error(
        "this machine has only {found} chunks of {CHUNK_SIZE} bytes of text files; {CHUNK_COUNT_MIN} are needed"
    )]
    TooLittleText {
        /// How many there are.
        found: usize,
    },
    /// The chunks cannot be written.
    #[error("{path}: {source}", path = path.display())]
    Write {
        /// Where to.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Job {
    /// Cuts up to `size_max` bytes of text into chunks and writes those of the run into a new folder.
    pub fn prepare(size_max: usize) -> Result<Job, JobError> {
        let chunks = read_chunks(size_max);
        if chunks.len() < CHUNK_COUNT_MIN {
            return Err(JobError::TooLittleText { found: chunks.len() });
        }
        let folder = std::env::temp_dir().join(format!("textjob-{}", process::id()));
        let mut job = Job { folder, chunk_count: 0, calibration: Vec::new() };
        write(&job.chunk_folder(), |path| fs::create_dir_all(path))?;
        for (index, chunk) in chunks.into_iter().enumerate() {
            if index % CALIBRATION_SHARE == 0 {
                job.calibration.push(chunk);
            } else {
                write(&job.chunk_folder().join(format!("{index:06}")), |path| fs::write(path, &chunk))?;
                job.chunk_count += 1;
            }
        }
        Ok(job)
    }

    /// The folder with one file for each chunk, named so that their order is the chunks'.
    pub fn chunk_folder(&self) -> PathBuf {
        self.folder.join("chunks")
    }

    /// Where a run writes its lines.
    pub fn result_file(&self, run: &str) -> PathBuf {
        self.folder.join(run)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Nothing is lost if it stays: it is in the system's folder for such things.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn write(path: &Path, act: impl Fn(&Path) -> io::Result<()>) -> Result<(), JobError> {
    act(path).map_err(|source| JobError::Write { path: path.to_owned(), source })
}
