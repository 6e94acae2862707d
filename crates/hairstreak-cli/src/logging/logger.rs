//! `Logger`: takes the records of the crate `log`. `Logging`: changes the logger while the node runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use hairstreak_node::{LogFormat, LogLevel};
use hairstreak_process::PatientOutput;
use log::{Level, LevelFilter, Log, Metadata, Record};

use super::line::{line, write};
use super::line_queue::LineQueue;
use crate::failure::Failure;

/// The prefix of our own crates. From other crates only warnings are written.
const OWN: &str = "hairstreak";
/// The time limit for the log to be read at the end of the process.
const FLUSH_TIME: Duration = Duration::from_secs(1);

struct Logger {
    queue: Arc<LineQueue>,
    format: Arc<Format>,
}

/// The format of further lines.
struct Format(AtomicBool);

/// The log while the node runs. Its drop waits a little until all lines are written.
pub struct Logging {
    queue: Arc<LineQueue>,
    format: Arc<Format>,
}

/// Makes the records of the process go to standard error. Called once.
///
/// Errors: the process has a log already, or the system cannot start a thread.
pub fn start(level: LogLevel, format: LogFormat) -> Result<Logging, Failure> {
    let format = Arc::new(Format(AtomicBool::new(format == LogFormat::Json)));
    let of_dropped = Arc::clone(&format);
    let tell_dropped = Box::new(move |count| dropped(count, of_dropped.get()));
    let output = PatientOutput::standard_error().map_err(Failure::failed)?;
    let queue = LineQueue::start(output, tell_dropped).map_err(Failure::failed)?;
    let logger = Logger { queue: Arc::clone(&queue), format: Arc::clone(&format) };
    log::set_boxed_logger(Box::new(logger)).map_err(Failure::failed)?;
    let logging = Logging { queue, format };
    log::set_max_level(level.filter());
    Ok(logging)
}

impl Logging {
    /// Changes the level and the format of further lines.
    pub fn change(&self, level: LogLevel, format: LogFormat) {
        self.format.0.store(format == LogFormat::Json, Relaxed);
        log::set_max_level(level.filter());
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.queue.flush(FLUSH_TIME);
    }
}

impl Format {
    fn get(&self) -> LogFormat {
        if self.0.load(Relaxed) { LogFormat::Json } else { LogFormat::Text }
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_own = metadata.target().starts_with(OWN);
        let level = log::max_level().min(if is_own { LevelFilter::Trace } else { LevelFilter::Warn });
        metadata.level() <= level
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.queue.put(&line(record, SystemTime::now(), self.format.get()));
        }
    }

    fn flush(&self) {
        self.queue.flush(FLUSH_TIME);
    }
}

/// The line that reports dropped lines.
fn dropped(count: u64, format: LogFormat) -> String {
    let fields = vec![("count".to_owned(), count.into())];
    let message = "lines of the log were dropped, because nobody reads them";
    write(format, SystemTime::now(), Level::Warn, message, fields)
}
