//! `Worker`: takes requests from one or several brokers, runs the handler, and sends its replies.
//!
//! With one thread, the thread that calls [`Worker::run`] does all the work. It takes the available requests and
//! handles them. Its replies gather until it waits again. A deputy receives in its place while a handler runs long.
//! With more threads, that thread receives and the others handle and send.

use std::collections::VecDeque;
use std::error::Error;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use hairstreak_base::Body;
use hairstreak_socket::{Context, Message};
use hairstreak_wire::hsn1::{PartPlace, RequestId};
use hairstreak_wire::mdp::{is_management, is_service_name};

use super::board::{Board, PartTo};
use super::deputy::{Deputy, Post};
use super::error::WorkerError;
use super::link::{Connection, Link};
use super::options::WorkerOptions;
use super::pauses::Pauses;
use super::receiver::Receiver;
use super::request::Request;
use super::session::Origin;
use super::store::{MemoryStore, ReplyStore};

/// Handler time from which a reply is flushed at once. Replies of faster handlers gather while there are requests.
const SLOW: Duration = Duration::from_micros(50);

/// Error of a handler. Its text goes to the client.
pub type HandlerError = Box<dyn Error + Send + Sync>;

/// Worker of one service. If it is dropped or its process dies, its requests go to other workers.
pub struct Worker {
    shared: Arc<Shared>,
    context: Context,
}

/// Handle that asks a worker to leave, from another thread.
#[derive(Clone)]
pub struct WorkerControl(Arc<Shared>);

/// Counters of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Requests that the handler ran for.
    pub handled: u64,
    /// Requests among them that the handler failed.
    pub failed: u64,
    /// Repeated requests that were answered with the stored reply.
    pub replayed: u64,
}

/// State shared by all threads of a worker.
pub(super) struct Shared {
    pub service: String,
    pub options: WorkerOptions,
    pub links: Vec<Link>,
    board: Mutex<Board>,
    jobs: Mutex<Jobs>,
    /// Signalled when there is a job, or when no more will come.
    job_came: Condvar,
    leaves: AtomicBool,
    handled: AtomicU64,
    failed: AtomicU64,
    pub replayed: AtomicU64,
    pub pauses: Pauses,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Job>,
    /// Jobs that threads have begun.
    begun_count: usize,
    are_over: bool,
}

/// A request to be handled.
pub(super) struct Job {
    pub link: usize,
    pub origin: Origin,
    pub body: Body,
    pub arrival: Arrival,
}

/// Circumstances of a request's arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Connection that brought the request, if known.
    pub connection: Option<Connection>,
    /// Pauses before the arrival.
    pub pause_count: u64,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("service", &self.shared.service).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WorkerControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerControl").field("service", &self.0.service).finish_non_exhaustive()
    }
}

impl WorkerControl {
    /// Asks the worker to leave. It accepts no new requests and finishes the current ones. [`Worker::run`] returns
    /// afterwards.
    pub fn leave(&self) {
        self.0.leaves.store(true, Ordering::Relaxed);
    }
}

impl Worker {
    /// Returns a worker of this service at this broker, which may start later.
    pub fn connect(broker: &str, service: &str) -> Result<Worker, WorkerError> {
        Worker::with_options(&[broker], service, WorkerOptions::default(), MemoryStore::new())
    }

    /// Returns a worker of this service at all of these brokers.
    pub fn with_options(
        brokers: &[&str],
        service: &str,
        options: WorkerOptions,
        store: impl ReplyStore + 'static,
    ) -> Result<Worker, WorkerError> {
        if !is_service_name(service.as_bytes()) {
            return Err(WorkerError::ServiceName(service.len()));
        }
        if is_management(service.as_bytes()) {
            return Err(WorkerError::Management(service.to_owned()));
        }
        if brokers.is_empty() {
            return Err(WorkerError::NoBroker);
        }
        let context = Context::new();
        let links = brokers.iter().map(|broker| Link::open(&context, broker, &options));
        // A worker cannot know when a broker gives it up. It assumes the timeout that it uses itself.
        let pauses = Pauses::new(Duration::from_millis(options.heartbeat_timeout_ms), Instant::now());
        let shared = Shared {
            service: service.to_owned(),
            links: links.collect::<Result<_, _>>()?,
            options,
            board: Mutex::new(Board::new(Box::new(store))),
            jobs: Mutex::default(),
            job_came: Condvar::new(),
            leaves: AtomicBool::new(false),
            handled: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            replayed: AtomicU64::new(0),
            pauses,
        };
        Ok(Worker { shared: Arc::new(shared), context })
    }

    /// Returns a handle that asks the worker to leave, from another thread.
    pub fn control(&self) -> WorkerControl {
        WorkerControl(Arc::clone(&self.shared))
    }

    /// Serves until it is asked to leave. The handler returns the reply. An error or a panic is sent to the client too.
    pub fn run<F>(self, handler: F) -> Result<WorkerReport, WorkerError>
    where
        F: Fn(&Request<'_>) -> Result<Message, HandlerError> + Sync,
    {
        let Worker { shared, context } = self;
        let thread_count = shared.options.thread_count();
        let result = thread::scope(|scope| {
            let _end = JobsEnd(&shared);
            if thread_count == 1 {
                shared.serve_alone(&context, scope, &handler)
            } else {
                let start =
                    |index| start(scope, format!("worker {index}"), || shared.work(&handler)).map(drop);
                (0..thread_count)
                    .try_for_each(start)
                    .map_err(WorkerError::from)
                    .and_then(|()| Receiver::new(&shared, &context))
                    .and_then(Receiver::run)
            }
        });
        for link in &shared.links {
            link.dealer().close();
        }
        result.map(|()| shared.report())
    }
}

impl Shared {
    pub fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> WorkerReport {
        WorkerReport {
            handled: self.handled.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            replayed: self.replayed.load(Ordering::Relaxed),
        }
    }

    /// Queues requests for the threads, in this order.
    pub fn enqueue(&self, jobs: impl ExactSizeIterator<Item = Job>) {
        let count = jobs.len();
        if count == 0 {
            return;
        }
        self.lock_jobs().queue.extend(jobs);
        match count {
            1 => self.job_came.notify_one(),
            _ => self.job_came.notify_all(),
        }
    }

    /// Receives and handles in this thread.
    fn serve_alone<'scope, 'env>(
        &'env self,
        context: &'env Context,
        scope: &'scope thread::Scope<'scope, 'env>,
        handler: &impl Fn(&Request<'_>) -> Result<Message, HandlerError>,
    ) -> Result<(), WorkerError> {
        let receiver = Arc::new(Mutex::new(Receiver::new(self, context)?));
        let deputy = Arc::new(Deputy::default());
        let thread = {
            let (deputy, receiver) = (Arc::clone(&deputy), Arc::clone(&receiver));
            start(scope, "deputy".to_owned(), move || deputy.run(&receiver))?
        };
        // The store belongs to the application and may panic.
        let _post = Post { deputy: &deputy, thread: thread.thread() };
        loop {
            {
                let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                // Jobs that the deputy has just taken must not wait for further messages.
                if self.is_idle() && receiver.step()? {
                    return Ok(());
                }
            }
            deputy.begin(thread.thread());
            self.work_off(handler);
            deputy.end();
        }
    }

    /// Handles all queued requests.
    fn work_off(&self, handler: &impl Fn(&Request<'_>) -> Result<Message, HandlerError>) {
        let mut jobs = self.lock_jobs();
        while !jobs.queue.is_empty() {
            let batch = std::mem::take(&mut jobs.queue);
            jobs.begun_count = batch.len();
            drop(jobs);
            let mut begin = Instant::now();
            batch.into_iter().for_each(|job| begin = self.handle(job, begin, handler));
            jobs = self.lock_jobs();
            jobs.begun_count = 0;
        }
    }

    /// Runs one of several threads: handles requests until no more will come.
    fn work(&self, handler: &(impl Fn(&Request<'_>) -> Result<Message, HandlerError> + Sync)) {
        let mut jobs = self.lock_jobs();
        loop {
            if let Some(job) = jobs.queue.pop_front() {
                jobs.begun_count += 1;
                drop(jobs);
                self.handle(job, Instant::now(), handler);
                jobs = self.lock_jobs();
                jobs.begun_count -= 1;
            } else if jobs.are_over {
                return;
            } else {
                jobs = self.job_came.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Returns whether the broker may have given the request to another worker since its arrival. The reason is a
    /// closed connection, a pause of the process, or a cancel.
    pub fn is_doubtful(&self, request: RequestId, link: usize, arrival: Arrival) -> bool {
        arrival.pause_count != self.pauses.look(Instant::now())
            || arrival.connection.is_none()
            || arrival.connection != self.links[link].connection()
            || self.board().was_cancelled(request)
    }

    /// Returns whether the worker was asked to leave.
    pub fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    pub fn is_idle(&self) -> bool {
        let jobs = self.lock_jobs();
        jobs.queue.is_empty() && jobs.begun_count == 0
    }

    /// Handles a request. Returns the time at which the handler ended.
    fn handle(
        &self,
        job: Job,
        begin: Instant,
        handler: &impl Fn(&Request<'_>) -> Result<Message, HandlerError>,
    ) -> Instant {
        let Job { link, arrival, .. } = job;
        let request = Request { shared: self, link, origin: &job.origin, body: job.body.frames(), arrival };
        let result = panic::catch_unwind(AssertUnwindSafe(|| handler(&request)));
        let result = match result {
            Ok(result) => result.map_err(|error| error.to_string()),
            // The panic hook has reported the panic.
            Err(_) => Err("the worker panicked".to_owned()),
        };
        self.handled.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(u64::from(result.is_err()), Ordering::Relaxed);
        self.reply(&job.origin, job.link, &result);
        let end = Instant::now();
        if end.duration_since(begin) >= SLOW {
            // The next request may take as long.
            self.links[job.link].flush();
        }
        end
    }

    fn reply(&self, origin: &Origin, link: usize, result: &Result<Message, String>) {
        match origin {
            Origin::Hsn1 { request, .. } => {
                let Some(PartTo { link, run, index }) = self.board().end(*request, result) else { return };
                match result {
                    Ok(last) => {
                        self.links[link].send_part(*request, PartPlace { run, index, is_final: true }, last);
                    }
                    Err(text) => self.links[link].send_refused(*request, text),
                }
            }
            // Plain MDP has no failure: the timeout of its client expires. An empty reply tells the broker that the
            // worker is free.
            Origin::Plain { address } => {
                let empty = Message::new();
                self.links[link].send_plain_reply(address, true, result.as_ref().unwrap_or(&empty));
            }
        }
    }

    pub fn send_part(&self, origin: &Origin, link: usize, part: &Message) {
        match origin {
            Origin::Hsn1 { request, .. } => {
                let Some(PartTo { link, run, index }) = self.board().add_part(*request, part) else { return };
                self.links[link].send_part(*request, PartPlace { run, index, is_final: false }, part);
            }
            Origin::Plain { address } => self.links[link].send_plain_reply(address, false, part),
        }
    }
}

/// Guard that ends the queue of jobs when it is dropped.
struct JobsEnd<'a>(&'a Shared);

impl Drop for JobsEnd<'_> {
    fn drop(&mut self) {
        self.0.lock_jobs().are_over = true;
        self.0.job_came.notify_all();
    }
}

fn start<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: String,
    run: impl FnOnce() + Send + 'scope,
) -> io::Result<thread::ScopedJoinHandle<'scope, ()>> {
    thread::Builder::new().name(name).spawn_scoped(scope, run)
}
