//! `hairstreak map`: standard input through commands, here and elsewhere, to standard output.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use hairstreak::pipeline::{DeadLetterSink, Finished, PipelineOptions, Sink, Ventilator, Worker};
use hairstreak_process::{CommandPoolError, Counts, Framing, Splitter, raise_descriptor_limit};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::map::{
    Budget, CommandPool, CommandPoolOptions, Failures, Feed, FeedError, MapArguments, Meeting, Orders,
    ResultWriter, Shown, Stop, meeting,
};
use crate::numbers::grouped;
use crate::output::note;
use crate::signals;

/// The status of a map that could not continue, as in GNU parallel.
pub const TROUBLE: u8 = 255;
/// The status for more failed records than a status can count.
const MANY: u64 = 101;
/// Statuses of a command that cannot be executed and of a command that is not found, as in a shell.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// The time after which a map without commands of its own reports that it waits for a worker.
const ALONE_FOR: Duration = Duration::from_secs(1);

/// The state that the threads of a map share.
struct Map<'a> {
    arguments: &'a MapArguments,
    framing: Framing,
    pool: CommandPoolOptions,
    counts: Arc<Counts>,
    budget: Arc<Budget>,
    stop: Stop,
    meeting: Option<Meeting>,
}

pub fn map(arguments: &MapArguments) -> Result<(), Failure> {
    let pool = arguments.pool();
    if pool.job_count == 0 && arguments.listen.is_none() {
        return Err(Failure::usage("with -j 0 nobody works unless workers can join: --listen is missing"));
    }
    if pool.job_count > 0 && pool.command.is_empty() {
        return Err(Failure::usage("there is no COMMAND: it stands behind --"));
    }
    raise_descriptor_limit();
    let meeting = arguments.listen.as_deref().map(meeting).transpose().map_err(Failure::usage)?;
    let map = Map {
        arguments,
        framing: arguments.work.framing(),
        pool,
        counts: Arc::default(),
        budget: Arc::default(),
        stop: Stop::default(),
        meeting,
    };
    map.stop_on_signals().map_err(trouble)?;
    map.run()
}

impl Map<'_> {
    fn run(&self) -> Result<(), Failure> {
        let (fed, finished) = thread::scope(|scope| {
            // After a failure the other threads would run for ever.
            self.work(scope).unwrap_or_else(|failure| self.stop.end(&failure))
        });
        self.outcome(fed, finished)
    }

    fn work<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<(Result<(), FeedError>, Finished), Failure> {
        let names = ["tasks", "control", "results", "failures"];
        let [tasks, control, results, failures] =
            &names.map(|part| format!("inproc://hairstreak-map-{part}"));
        let options = PipelineOptions {
            window: (self.arguments.window as usize).into(),
            keep_order: self.arguments.keep_order,
            dead_letters: Some(failures.clone()),
            ..PipelineOptions::default()
        };
        // Commands come first: if one of them cannot be started, the map ends. Endpoints of this process may be bound later.
        let pool = self.start_pool(scope, tasks, results)?;
        self.start_failures(failures, &options)?;
        let ventilator = Ventilator::bind(tasks, control, &options).map_err(trouble)?;
        let writer = self.start_writer(scope, &options, control, results)?;
        if let Some(meeting) = &self.meeting {
            ventilator.listen(&meeting.tasks).map_err(trouble)?;
            self.stop.remove(meeting.files());
            note(&format!(
                "hairstreak: workers can join: hairstreak map-worker {} -- COMMAND\n",
                meeting.tasks
            ));
        }
        if self.pool.job_count == 0 && !ventilator.wait_for_workers(1, ALONE_FOR) {
            note("hairstreak: no worker has joined yet, waiting\n");
        }
        let shown = Shown::start(self.arguments.progress, &self.counts, input_size()).map_err(trouble)?;
        let splitter = Splitter::new(self.framing, self.pool.record_bytes_max);
        let mut feed = Feed { ventilator: &ventilator, splitter, counts: &self.counts, budget: &self.budget };
        let fed = feed.feed();
        tell(&pool, |orders| {
            if self.meeting.is_none() {
                let count = self.counts.records.load(Ordering::Relaxed);
                orders.record_count.store(count, Ordering::Release);
            }
            orders.input_is_over.store(true, Ordering::Release);
        });
        let finished = feed.finish().map_err(trouble)?;
        // Panics in threads have been reported.
        let _ = writer.join();
        tell(&pool, |orders| orders.work_is_over.store(true, Ordering::Release));
        if let Some(pool) = pool {
            let _ = pool.thread.join();
        }
        shown.finish();
        Ok((fed, finished))
    }

    /// Starts the commands of this host, if there are any.
    fn start_pool<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        tasks: &str,
        results: &str,
    ) -> Result<Option<PoolAtWork<'scope>>, Failure> {
        if self.pool.job_count == 0 {
            return Ok(None);
        }
        let (started, starting) = mpsc::channel();
        let (tasks, results) = (tasks.to_owned(), results.to_owned());
        let work = move || {
            let options = PipelineOptions {
                window: self.pool.window.into(),
                ahead: Some(self.pool.window),
                ..PipelineOptions::default()
            };
            let pool = Worker::connect(&tasks, &results, &options).map_err(trouble).and_then(|worker| {
                let (children, counts) = (self.stop.children().clone(), Arc::clone(&self.counts));
                CommandPool::start(self.pool.clone(), worker, children, counts)
                    .map_err(|error| failure(&error))
            });
            let mut pool = match pool {
                Ok(pool) => pool,
                Err(failure) => return drop(started.send(Err(failure))),
            };
            // The starting thread waits for this message.
            let _ = started.send(Ok(pool.orders()));
            if let Err(error) = pool.work() {
                self.stop.end(&failure(&error));
            }
        };
        let thread = thread::Builder::new().name("pool".into()).spawn_scoped(scope, work).map_err(trouble)?;
        let (orders, waker) = starting.recv().map_err(trouble)??;
        Ok(Some(PoolAtWork { orders, waker, thread }))
    }

    /// Starts the thread that reports failed records.
    fn start_failures(&self, place: &str, options: &PipelineOptions) -> Result<(), Failure> {
        let letters = DeadLetterSink::bind(place, options).map_err(trouble)?;
        let failures = Failures { letters, budget: Arc::clone(&self.budget) };
        let work = move || failures.report();
        thread::Builder::new().name("failures".into()).spawn(work).map(drop).map_err(trouble)
    }

    /// Starts the thread that writes results.
    fn start_writer<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        options: &PipelineOptions,
        control: &str,
        results: &str,
    ) -> Result<ScopedJoinHandle<'scope, ()>, Failure> {
        let (started, starting) = mpsc::channel();
        let (options, control, results) = (options.clone(), control.to_owned(), results.to_owned());
        let work = move || {
            let opened = Sink::bind(&results, &control, &options).map_err(trouble).and_then(|sink| {
                if let Some(meeting) = &self.meeting {
                    sink.listen(&meeting.results).map_err(trouble)?;
                }
                Ok(sink)
            });
            let sink = match opened {
                Ok(sink) => sink,
                Err(failure) => return drop(started.send(Err(failure))),
            };
            let _ = started.send(Ok(()));
            let writer = ResultWriter {
                framing: self.framing,
                counts: &self.counts,
                budget: &self.budget,
                stop: &self.stop,
            };
            if let Err(error) = writer.gather(sink) {
                self.stop.end(&trouble(error));
            }
        };
        let thread =
            thread::Builder::new().name("writer".into()).spawn_scoped(scope, work).map_err(trouble)?;
        starting.recv().map_err(trouble)??;
        Ok(thread)
    }

    /// The first signal ends the work in order, the second at once.
    fn stop_on_signals(&self) -> std::io::Result<()> {
        signals::share_with(self.stop.children().groups())?;
        let mut signals = Signals::new(signals::ending())?;
        let (stop, counts) = (self.stop.clone(), Arc::clone(&self.counts));
        let work = move || {
            let mut is_first = true;
            for signal in signals.forever() {
                if !std::mem::replace(&mut is_first, false) {
                    stop.end_at_once(128 + signal as u8);
                }
                let (stop, counts) = (stop.clone(), Arc::clone(&counts));
                let end = move || stop.end(&stopped(signal, &counts));
                if thread::Builder::new().name("end".into()).spawn(end).is_err() {
                    std::process::exit(128 + signal);
                }
            }
        };
        thread::Builder::new().name("signals".into()).spawn(work).map(drop)
    }

    fn outcome(&self, fed: Result<(), FeedError>, finished: Finished) -> Result<(), Failure> {
        fed.map_err(trouble)?;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let failed = count(&self.counts.failed) + finished.rejected + count(&self.counts.failed_ends);
        // Each failed record has been reported.
        if failed > 0 { Err(Failure::quiet(failed.min(MANY) as u8)) } else { Ok(()) }
    }
}

/// The thread that drives the commands of this host.
struct PoolAtWork<'scope> {
    orders: Arc<Orders>,
    waker: Waker,
    thread: ScopedJoinHandle<'scope, ()>,
}

fn tell(pool: &Option<PoolAtWork<'_>>, order: impl FnOnce(&Orders)) {
    if let Some(pool) = pool {
        order(&pool.orders);
        pool.waker.wake_by_ref();
    }
}

/// Returns the size of standard input in bytes, if it is a file.
fn input_size() -> Option<u64> {
    let stdin = std::fs::File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    stdin.metadata().ok().filter(|file| file.is_file()).map(|file| file.len())
}

fn stopped(signal: i32, counts: &Counts) -> Failure {
    let done = counts.done.load(Ordering::Relaxed);
    let left = counts.records.load(Ordering::Relaxed).saturating_sub(done);
    let reason = format!(
        "stopped by {} with {} records done and {} under way",
        signals::name(signal),
        grouped(done),
        grouped(left)
    );
    Failure::stopped(signal as u8, reason)
}

fn trouble(error: impl std::fmt::Display) -> Failure {
    Failure::with_status(TROUBLE, error)
}

/// Returns the failure of the commands, with its exit status.
pub fn failure(error: &CommandPoolError) -> Failure {
    let status = match error {
        CommandPoolError::Start { source, .. } if source.kind() == ErrorKind::NotFound => NOT_FOUND,
        CommandPoolError::Start { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            NOT_EXECUTABLE
        }
        _ => TROUBLE,
    };
    match error {
        CommandPoolError::Start { program, .. } if program.as_bytes().contains(&b' ') => {
            Failure::with_status(
                status,
                format!("{error}; there is no shell: each word is one argument, or sh -c '...'"),
            )
        }
        _ => Failure::with_status(status, error),
    }
}
