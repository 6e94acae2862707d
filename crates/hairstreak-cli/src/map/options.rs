//! The arguments of `hairstreak map` and `hairstreak map-worker`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;
use hairstreak_process::Framing;

use super::pool::CommandPoolOptions;
use crate::numbers::{When, bounded};

/// The largest number of commands.
const JOB_COUNT_MAX: u64 = 1024;
/// The largest window, in records.
const WINDOW_MAX: u64 = 10_000_000;
/// The largest record, a little below the largest message of a socket.
const RECORD_BYTES_MAX: u64 = 127 << 20;
/// The longest allowed absence of a map.
const PATIENCE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Records at a worker for each of its commands, if a command runs once for a record: the record in work, and the next.
const EACH_AHEAD: usize = 2;

/// Run a command on each line of standard input, side by side, and lose none
///
/// COMMAND is started -j times and keeps running: an instance reads each of its records (a line) from
/// standard input and answers with one record, which goes to standard output. With {} in its arguments,
/// or with --each, COMMAND runs once for each record instead. An instance that is killed is started again,
/// and its unanswered records are redone; each record has its result exactly once.
///
/// COMMAND and its arguments are passed on unchanged, without a shell. To use a shell: sh -c '...'.
#[derive(Debug, Args)]
#[command(after_long_help = MAP_EXAMPLES)]
pub struct MapArguments {
    /// The number of commands that run side by side. 0: only the commands of workers that join with --listen. [default: the
    /// number of cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=JOB_COUNT_MAX))]
    pub jobs: Option<u64>,
    /// The largest number of records under way. It bounds memory, and the records that are redone when a worker dies.
    #[arg(short, long, value_name = "W", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=WINDOW_MAX))]
    pub window: u64,
    /// Write results in the order of their records.
    #[arg(short, long)]
    pub keep_order: bool,
    #[command(flatten)]
    pub work: WorkArguments,
    /// Let workers on other hosts join: hairstreak map-worker ENDPOINT -- COMMAND. ENDPOINT is a tcp port, whose next
    /// port is used too, or an ipc path. Every peer that can connect is trusted.
    #[arg(long, value_name = "ENDPOINT")]
    pub listen: Option<String>,
    /// Show the progress on standard error. `auto`: if standard error is a terminal and standard output is not.
    /// Without a value: always.
    #[arg(long, value_name = "WHEN", default_value = "auto", default_missing_value = "always", num_args = 0..=1, require_equals = true)]
    pub progress: When,
    /// The command and its arguments.
    #[arg(last = true, required_unless_present = "jobs", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The arguments that a map and its workers share.
#[derive(Debug, Args)]
pub struct WorkArguments {
    /// Run COMMAND once for each record, with the record on its standard input.
    #[arg(long)]
    pub each: bool,
    /// Records, and the answers of a filter, end with a NUL instead of a newline.
    #[arg(short = '0', long, conflicts_with = "length")]
    pub null: bool,
    /// Records, and results, follow their length: 4 bytes, big-endian.
    #[arg(long)]
    pub length: bool,
    /// The largest number of tries of a failing record. [default: 3 for filters, 1 with {} or --each]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub retries: Option<u32>,
    /// The largest record, and the largest result, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = RECORD_BYTES_MAX, value_parser = clap::value_parser!(u64).range(1..=RECORD_BYTES_MAX))]
    pub record_bytes: u64,
}

const MAP_EXAMPLES: &str = "\
Examples:
    hairstreak map -- ./enrich.py < lines > results        a filter on every core
    hairstreak map -k -- sed 's/a/b/' < lines              in order
    find . -name '*.flac' -print0 | hairstreak map -0 -- ffmpeg -i {} -n {}.mp3
    hairstreak map -j 4 --each -- sh -c 'wc -c' < lines    each line on a standard input
    hairstreak map --listen tcp://*:5700 -- ./work < lines
    hairstreak map-worker tcp://there:5700 -- ./work       on any other host, at any time

A filter gives one record for each record, in order, and gets up to W / N records ahead. Most
programs buffer their output while it is a pipe: they get more records meanwhile, and at the end their
standard input is closed. A silent filter that has all records that the window allows is ended: its
standard input is closed, it writes its answers, and another is started. If that takes too long, make
it write at once: stdbuf -oL COMMAND, python3 -u, grep --line-buffered. If records take long, and some
longer than others, a small window such as 2 x N prevents records from waiting behind slow ones.

A filter that dies is started again. A record that kills it repeatedly fails after --retries deaths
alone, and is reported; the others are done. Other effects of COMMAND may happen twice.

With {} or --each, the output of COMMAND is written unchanged after its end. With --length it is one
result.

Exit status: 0 all records have their result; 1 to 100 the number of failed records; 101 more of them;
255 the map could not continue; 126 or 127 COMMAND cannot be started; 2 wrong arguments; 129, 130 and
143 stopped by SIGHUP, SIGINT, SIGTERM; 141 the reader of the results has gone.";

/// Join a map on another host: run its records here
///
/// Takes records from `hairstreak map --listen ENDPOINT` and returns their results. It may join and leave at
/// any time. On SIGINT, SIGTERM or SIGHUP it takes no new records, finishes its own and leaves; a second signal
/// ends it at once. If it is killed, other workers redo its records. Exits with 0 when the work is done.
#[derive(Debug, Args)]
#[command(after_long_help = WORKER_EXAMPLES)]
pub struct MapWorkerArguments {
    /// The endpoint of the map.
    pub endpoint: String,
    /// The number of commands that run side by side. [default: the number of cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=JOB_COUNT_MAX))]
    pub jobs: Option<u64>,
    /// The largest number of records at this worker.
    #[arg(short, long, value_name = "W", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=WINDOW_MAX))]
    pub window: u64,
    #[command(flatten)]
    pub work: WorkArguments,
    /// The absence of the map after which this worker gives up.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = patience)]
    pub patience: Duration,
    /// The command and its arguments. Use --each, -0 and --length as the map does.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

const WORKER_EXAMPLES: &str = "\
Example:
    hairstreak map-worker tcp://there:5700 -- ./enrich.py

Exit status: 0 the work is done, or it was asked to leave and has; 126 or 127 COMMAND cannot be
started; 255 the map is gone, or was never there, or it cannot go on; 129, 130 and 143 stopped
at once, by a second SIGHUP, SIGINT or SIGTERM.";

impl WorkArguments {
    pub fn framing(&self) -> Framing {
        match (self.null, self.length) {
            (true, _) => Framing::Null,
            (_, true) => Framing::Length,
            _ => Framing::Lines,
        }
    }
}

impl MapArguments {
    /// Returns the options of the pool of commands on this host.
    pub fn pool(&self) -> CommandPoolOptions {
        pool(&self.command, &self.work, self.jobs, self.window)
    }
}

impl MapWorkerArguments {
    pub fn pool(&self) -> CommandPoolOptions {
        let remote = Some((self.endpoint.clone(), self.patience));
        CommandPoolOptions { remote, ..pool(&self.command, &self.work, self.jobs, self.window) }
    }
}

fn pool(command: &[OsString], work: &WorkArguments, jobs: Option<u64>, window: u64) -> CommandPoolOptions {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut options = CommandPoolOptions {
        command: command.to_vec(),
        framing: work.framing(),
        each: work.each,
        job_count: jobs.map_or_else(cores, |jobs| jobs as usize),
        window: window as usize,
        tries_max: work.retries,
        record_bytes_max: work.record_bytes as usize,
        remote: None,
    };
    if options.is_each() {
        // More would only be kept from other workers.
        options.window = options.window.min(EACH_AHEAD * options.job_count.max(1));
    }
    options
}

fn patience(text: &str) -> Result<Duration, String> {
    bounded(text, "a patience", PATIENCE_MAX)
}
