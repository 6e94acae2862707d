//! `Worker`: takes requests from one or several brokers, runs the handler, sends what it returns.
//!
//! With one thread, that which calls [`Worker::run`] does all: it takes what is there, handles it, and what it sends gathers
//! until it waits again. With more, that thread receives and the others handle and send.

use std::collections::VecDeque;
use std::error::Error;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_base::Frame;
use hairstreak_socket::{Context, Interest, Message, Poller, RecvError};
use hairstreak_wire::mdp::{WorkerCommand, is_management, is_service_name};
use hairstreak_wire::numbered::Header;

use super::board::{Begin, Board};
use super::error::WorkerError;
use super::link::Link;
use super::options::WorkerOptions;
use super::request::Request;
use super::session::{Mode, Origin, Session, Wanted};
use super::store::{MemoryStore, ReplyStore};

/// How often connections and times are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How often several brokers are told what it has, at least: so many times while they wait for whoever has what was sent to
/// another before.
const TELLINGS: u32 = 3;
/// A handler that takes so long has its reply written at once; others' gather, while there are requests.
const SLOW: Duration = Duration::from_micros(50);
/// Messages that are taken in one turn.
const BATCH_COUNT_MAX: usize = 1024;

/// What a handler may fail with: its text goes to the client.
pub type HandlerError = Box<dyn Error + Send + Sync>;

/// Serves one service. Dropped, or when its process dies, its requests go to other workers.
pub struct Worker {
    shared: Arc<Shared>,
    context: Context,
}

/// Asks a worker to leave, from another thread.
#[derive(Clone)]
pub struct WorkerControl(Arc<Shared>);

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Requests that the handler ran for.
    pub handled: u64,
    /// Of those, how many it failed.
    pub failed: u64,
    /// Requests that were asked again, and answered with the reply that was kept.
    pub replayed: u64,
}

/// What all threads of a worker share.
pub(super) struct Shared {
    service: String,
    options: WorkerOptions,
    links: Vec<Link>,
    board: Mutex<Board>,
    jobs: Mutex<Jobs>,
    /// There is a job, or none will come.
    job_came: Condvar,
    leaves: AtomicBool,
    handled: AtomicU64,
    failed: AtomicU64,
    replayed: AtomicU64,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Job>,
    /// Those that threads have begun.
    begun_count: usize,
    are_over: bool,
}

/// A request that is to be handled.
struct Job {
    link: usize,
    origin: Origin,
    message: Message,
    body_index: usize,
}

impl Job {
    fn body(&self) -> &[Frame] {
        &self.message.as_frames()[self.body_index..]
    }
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
    /// The worker wants nothing new, ends what it has, and then [`Worker::run`] returns.
    pub fn leave(&self) {
        self.0.leaves.store(true, Ordering::Relaxed);
    }
}

impl Worker {
    /// A worker of this service at this broker, which may come later.
    pub fn connect(broker: &str, service: &str) -> Result<Worker, WorkerError> {
        Worker::with_options(&[broker], service, WorkerOptions::default(), MemoryStore::new())
    }

    /// A worker of this service at all of these brokers.
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
        };
        Ok(Worker { shared: Arc::new(shared), context })
    }

    /// To ask it to leave, from another thread.
    pub fn control(&self) -> WorkerControl {
        WorkerControl(Arc::clone(&self.shared))
    }

    /// Serves until it is asked to leave. The handler returns the reply; an error, or a panic, is the client's answer too.
    pub fn run<F>(self, handler: F) -> Result<WorkerReport, WorkerError>
    where
        F: Fn(&Request<'_>) -> Result<Message, HandlerError> + Sync,
    {
        let Worker { shared, context } = self;
        let thread_count = shared.options.thread_count();
        let result = if thread_count == 1 {
            Intake::new(&shared, &context)?.run(|job| shared.handle(job, &handler))
        } else {
            thread::scope(|scope| {
                let start = |index| {
                    let work = || shared.work(&handler);
                    thread::Builder::new().name(format!("worker {index}")).spawn_scoped(scope, work).map(drop)
                };
                let result = (0..thread_count)
                    .try_for_each(start)
                    .map_err(WorkerError::from)
                    .and_then(|()| Intake::new(&shared, &context))
                    .and_then(|intake| intake.run(|job| shared.enqueue(job)));
                shared.lock_jobs().are_over = true;
                shared.job_came.notify_all();
                result
            })
        };
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

    fn enqueue(&self, job: Job) {
        self.lock_jobs().queue.push_back(job);
        self.job_came.notify_one();
    }

    /// A thread of several: handles until nothing comes any more.
    fn work(&self, handler: &(impl Fn(&Request<'_>) -> Result<Message, HandlerError> + Sync)) {
        let mut jobs = self.lock_jobs();
        loop {
            if let Some(job) = jobs.queue.pop_front() {
                jobs.begun_count += 1;
                drop(jobs);
                self.handle(job, handler);
                jobs = self.lock_jobs();
                jobs.begun_count -= 1;
            } else if jobs.are_over {
                return;
            } else {
                jobs = self.job_came.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn is_idle(&self) -> bool {
        let jobs = self.lock_jobs();
        jobs.queue.is_empty() && jobs.begun_count == 0
    }

    fn handle(&self, job: Job, handler: &impl Fn(&Request<'_>) -> Result<Message, HandlerError>) {
        let request = Request { shared: self, link: job.link, origin: &job.origin, body: job.body() };
        let begin = Instant::now();
        let result = panic::catch_unwind(AssertUnwindSafe(|| handler(&request)));
        let is_slow = begin.elapsed() >= SLOW;
        let result = match result {
            Ok(result) => result.map_err(|error| error.to_string()),
            // The panic has been reported by itself.
            Err(_) => Err("the worker panicked".to_owned()),
        };
        self.handled.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(u64::from(result.is_err()), Ordering::Relaxed);
        self.reply(&job.origin, job.link, &result);
        if is_slow {
            // The next one may take as long.
            self.links[job.link].flush();
        }
    }

    fn reply(&self, origin: &Origin, link: usize, result: &Result<Message, String>) {
        match origin {
            Origin::Numbered { request, .. } => {
                let Some((index, link)) = self.board().end(*request, result) else { return };
                match result {
                    Ok(last) => self.links[link].send_part(*request, index, true, last),
                    Err(text) => self.links[link].send_refused(*request, text),
                }
            }
            // Plain MDP knows no failure: its client's own time runs out, and the broker is told that the worker is free by
            // an empty reply.
            Origin::Plain { address } => {
                let empty = Message::new();
                self.links[link].send_plain_reply(address, true, result.as_ref().unwrap_or(&empty));
            }
        }
    }

    pub fn send_part(&self, origin: &Origin, link: usize, part: &Message) {
        match origin {
            Origin::Numbered { request, .. } => {
                let Some((index, link)) = self.board().add_part(*request, part) else { return };
                self.links[link].send_part(*request, index, false, part);
            }
            Origin::Plain { address } => self.links[link].send_plain_reply(address, false, part),
        }
    }
}

/// The thread that receives.
struct Intake<'a> {
    shared: &'a Shared,
    context: &'a Context,
    sessions: Vec<Session>,
    /// With several brokers: waits for all of them.
    poller: Option<Poller>,
    /// Since when it leaves, and how many brokers know and have nothing more on the way.
    leaving: Option<(Instant, usize)>,
    next_look: Instant,
    next_telling: Instant,
    telling_interval: Duration,
    /// Requests that came and are on the board, before they are handled.
    begun: Vec<Job>,
}

impl<'a> Intake<'a> {
    fn new(shared: &'a Shared, context: &'a Context) -> Result<Intake<'a>, WorkerError> {
        let now = Instant::now();
        let sessions = shared.links.iter().map(|_| Session::new(now)).collect();
        let mut intake = Intake {
            shared,
            context,
            sessions,
            poller: None,
            leaving: None,
            next_look: now,
            next_telling: now,
            telling_interval: Duration::MAX,
            begun: Vec::new(),
        };
        intake.watch_links()?;
        Ok(intake)
    }

    /// Sockets may have been replaced.
    fn watch_links(&mut self) -> Result<(), WorkerError> {
        if self.shared.links.len() > 1 {
            let mut poller = Poller::new()?;
            for (index, link) in self.shared.links.iter().enumerate() {
                poller.add(&link.dealer(), index, Interest::READABLE)?;
            }
            self.poller = Some(poller);
        }
        Ok(())
    }

    /// Receives, and gives each request to `take`, until the worker has left.
    fn run(mut self, mut take: impl FnMut(Job)) -> Result<(), WorkerError> {
        let mut messages = Vec::new();
        let mut ready = Vec::new();
        loop {
            let now = Instant::now();
            if now >= self.next_look {
                self.next_look = now + LOOK_INTERVAL;
                self.look(now)?;
                if self.has_left(now) {
                    return Ok(());
                }
            }
            let patience = self.next_look.saturating_duration_since(now);
            match &mut self.poller {
                None => {
                    if self.sessions[0].mode == Mode::Unknown {
                        if self.shared.links[0].dealer().wait_for_peers(1, patience) {
                            self.next_look = now;
                        }
                        continue;
                    }
                    self.receive(0, patience, &mut messages, &mut take)?;
                }
                Some(poller) => {
                    poller.wait_timeout(&mut ready, patience)?;
                    for found in ready.drain(..) {
                        self.receive(found.key, Duration::ZERO, &mut messages, &mut take)?;
                    }
                }
            }
        }
    }

    /// Takes what is here, and gives what is to be done to `take` when all of it is on the board.
    fn receive(
        &mut self,
        link: usize,
        mut patience: Duration,
        messages: &mut Vec<Message>,
        take: &mut impl FnMut(Job),
    ) -> Result<(), WorkerError> {
        let (mut is_welcome, mut reconnects) = (false, false);
        loop {
            match self.shared.links[link].dealer().recv_many_timeout(messages, BATCH_COUNT_MAX, patience) {
                Ok(_) => {}
                Err(RecvError::TimedOut | RecvError::WouldBlock) => break,
                Err(error) => return Err(error.into()),
            }
            let now = Instant::now();
            for message in messages.iter_mut().map(std::mem::take) {
                match self.sessions[link].take(now, message.as_frames()) {
                    Wanted::Request { origin, body_index } => {
                        self.begin(Job { link, origin, message, body_index });
                    }
                    Wanted::Ready { patience } => {
                        is_welcome = true;
                        self.telling_interval = self.telling_interval.min(patience / TELLINGS);
                    }
                    Wanted::Cancel(request) => self.shared.board().cancel(request),
                    Wanted::Drained => {
                        if let Some((_, known_count)) = &mut self.leaving {
                            *known_count += 1;
                        }
                    }
                    Wanted::Reconnect => reconnects = true,
                    Wanted::Nothing => {}
                }
            }
            messages.clear();
            if !is_welcome {
                break;
            }
            // Behind the WELCOME of this connection there may be requests of the one before. READY is to list them.
            patience = Duration::ZERO;
        }
        if is_welcome {
            self.send_ready(link);
        }
        self.begun.drain(..).for_each(take);
        if reconnects { self.reopen(link) } else { Ok(()) }
    }

    fn begin(&mut self, job: Job) {
        let Origin::Numbered { request, first, .. } = job.origin else { return self.begun.push(job) };
        let begin = self.shared.board().begin(request, first, job.link);
        match begin {
            Begin::Run => self.begun.push(job),
            Begin::Runs => {}
            Begin::Over => self.shared.links[job.link].send_refused(request, "its client has had the reply"),
            Begin::Replied(reply) => {
                self.shared.replayed.fetch_add(1, Ordering::Relaxed);
                self.shared.links[job.link].send_stored(request, &reply);
            }
        }
    }

    fn send_ready(&mut self, link: usize) {
        let held = self.shared.board().held();
        let (link, shared) = (&self.shared.links[link], self.shared);
        if self.leaving.is_none() {
            link.send_ready(&shared.service, shared.options.capacity(), &held);
        }
    }

    fn reopen(&mut self, link: usize) -> Result<(), WorkerError> {
        self.sessions[link] = self.shared.links[link].reopen(self.context, &self.shared.options)?;
        self.watch_links()
    }

    /// Connections, heartbeats, and whether it is to leave.
    fn look(&mut self, now: Instant) -> Result<(), WorkerError> {
        let mut tells = now >= self.next_telling && self.shared.board().take_change();
        for index in 0..self.sessions.len() {
            let link = &self.shared.links[index];
            let before = self.sessions[index].mode;
            if self.sessions[index].see_peer(now, link.is_numbered()) {
                link.send_plain_ready(&self.shared.service);
            }
            let is_lost = before == Mode::Numbered && self.sessions[index].mode == Mode::Unknown;
            tells |= is_lost;
            let (heartbeat_is_due, is_silent) =
                self.sessions[index].look(now, self.shared.options.plain_heartbeat);
            if is_silent {
                self.reopen(index)?;
            } else if heartbeat_is_due {
                self.shared.links[index].send_plain_command(WorkerCommand::Heartbeat);
            }
        }
        if tells {
            self.tell_brokers(now);
        }
        if self.shared.leaves.load(Ordering::Relaxed) && self.leaving.is_none() {
            self.leaving = Some((now, 0));
            for (session, link) in self.sessions.iter().zip(&self.shared.links) {
                if session.mode == Mode::Numbered {
                    link.send_header(Header::Drain);
                }
            }
        }
        Ok(())
    }

    /// Tells all brokers what it has: a client may go from one to another, or has to.
    fn tell_brokers(&mut self, now: Instant) {
        if self.sessions.len() < 2 {
            return;
        }
        self.next_telling = now.checked_add(self.telling_interval).unwrap_or(now);
        let held = self.shared.board().held();
        for (session, link) in self.sessions.iter().zip(&self.shared.links) {
            if session.mode == Mode::Numbered {
                link.send_held(&held);
            }
        }
    }

    /// Whether it was asked to leave, every broker knows and nothing is left to do; then it says so.
    fn has_left(&mut self, now: Instant) -> bool {
        let Some((since, known_count)) = self.leaving else { return false };
        let numbered = self.sessions.iter().filter(|session| session.mode == Mode::Numbered).count();
        let is_known = known_count >= numbered
            || now.saturating_duration_since(since) >= self.shared.options.leave_timeout;
        if !is_known || !self.shared.is_idle() {
            return false;
        }
        for (session, link) in self.sessions.iter().zip(&self.shared.links) {
            match session.mode {
                Mode::Numbered => link.send_header(Header::Disconnect),
                Mode::Plain => link.send_plain_command(WorkerCommand::Disconnect),
                Mode::Unknown | Mode::Greeting => {}
            }
        }
        true
    }
}
