//! The monolith: one process, one thread, both stages one after the other for each chunk.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::extract::extract;
use crate::failure::Failure;
use crate::job::Job;
use crate::reduce::reduce;

/// Where the monolith's lines are.
pub const RESULTS: &str = "monolith";

/// Runs the job until it is done or `stop` is set, and says how long it took.
pub fn run(job: &Job, stop: &AtomicBool) -> Result<Duration, Failure> {
    let started = Instant::now();
    let mut files: Vec<_> = fs::read_dir(job.chunk_folder())?.collect::<Result<_, _>>()?;
    files.sort_by_key(|file| file.path());
    let mut results = BufWriter::new(File::create(job.result_file(RESULTS))?);
    for file in files {
        if stop.load(Ordering::Relaxed) {
            return Err("interrupted".into());
        }
        let line = reduce(&extract(&fs::read(file.path())?)?)?;
        results.write_all(&line)?;
        results.write_all(b"\n")?;
    }
    results.flush()?;
    Ok(started.elapsed())
}
