//! `Worker`: takes tasks, does them, and passes the results on; a task is settled when its result is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{Content, TaskId, TaskRun, join_group, split_group};
use hairstreak_socket::{
    BindError, ConnectError, Context, Endpoint, Message, Options, Outgoing, Pull, Push, RecvError, SendError,
};

use super::error::{PipelineError, WorkerError};
use super::options::{Absence, LOOK_INTERVAL, PipelineOptions};
use super::pace::Pace;

/// Tasks taken at once.
const BATCH_COUNT: usize = 1024;

/// Does tasks. `Send + Sync`; fastest on the thread that opened it.
#[derive(Debug)]
pub struct Worker {
    tasks: Pull,
    results: Push,
    lost_after: Duration,
    /// A task that was given to workers as often is not begun; 0: however often.
    deliveries_max: u16,
    /// It was asked to leave.
    leaves: Arc<AtomicBool>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task<'a> {
    /// What is to be done.
    pub message: &'a Message,
    /// What names it.
    pub id: TaskId,
    /// Which of its messages this is, from 0.
    pub index: usize,
    /// How many messages it has: one, unless the stage before gave several. All that comes of them is the task's result.
    pub count: usize,
    /// How often it was given to a worker before: it may have been done.
    pub deliveries: u16,
}

/// What a worker has to say of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is done, and its message, as it came, is the result.
    Same,
    /// It is done, and this is the result.
    Result(Message),
    /// It is done, and these are its results: the sink, or the worker of the next stage, gets all of them or none. All together
    /// have less than [`Options::frame_count_max`](hairstreak_socket::Options::frame_count_max) frames, and with four bytes for
    /// each no more than `message_size_max`; else the task is rejected.
    Results(Vec<Message>),
    /// It is done, and there is no result.
    Nothing,
    /// It cannot be done, by nobody, for this reason. Of a task with several messages, one is enough.
    Reject(String),
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Tasks it was given.
    pub task_count: u64,
    /// Of those, how many some worker had been given before.
    pub redelivered_count: u64,
    /// Results it sent; of a task there may be none or several.
    pub result_count: u64,
}

/// A run as far as it is.
#[derive(Debug, Default)]
struct Shift {
    report: WorkerReport,
    absence: Absence,
    /// How long it was waited for somebody who takes a result, since the last batch began.
    waited: Duration,
    /// There is nobody, and the ventilator wants no result any more.
    is_over: bool,
}

/// Asks a worker to leave, from any thread.
#[derive(Clone, Debug)]
pub struct Leaver {
    tasks: Pull,
    leaves: Arc<AtomicBool>,
}

impl Leaver {
    /// The worker gets nothing new, does what it has, and its run ends.
    pub fn leave(&self) {
        self.leaves.store(true, Ordering::SeqCst);
        self.tasks.drain();
    }
}

impl Worker {
    /// Takes tasks from the ventilator there, and sends results to the sink there.
    pub fn connect(tasks: &str, results: &str, options: &PipelineOptions) -> Result<Worker, PipelineError> {
        let worker = Worker::new(options)?;
        worker.connect_results(results)?;
        worker.connect_tasks(tasks)?;
        Ok(worker)
    }

    /// One that is to be told where tasks come from and results go to. Between two stages either end may listen, and each may
    /// do so at several places, and connect to several.
    pub fn new(options: &PipelineOptions) -> Result<Worker, PipelineError> {
        Worker::open(options.tasks_in(), options)
    }

    /// One that stands between two stages, listens for the workers of both, and is run to return each task as it came ([`Reply::Same`]). However
    /// often it dies, it gives up no task; to the next stage its deaths count as those of a worker.
    pub fn relay(options: &PipelineOptions) -> Result<Worker, PipelineError> {
        Ok(Worker { deliveries_max: 0, ..Worker::open(options.results_in(), options)? })
    }

    fn open(tasks: Options, options: &PipelineOptions) -> Result<Worker, PipelineError> {
        let context = Context::new();
        let tasks = Pull::with_options(&context, tasks)?;
        let results = Push::with_options(&context, options.results_out())?;
        results.settle_upstream(&tasks);
        let PipelineOptions { lost_after, deliveries_max, .. } = *options;
        Ok(Worker { tasks, results, lost_after, deliveries_max, leaves: Arc::default() })
    }

    /// Takes tasks from the ventilator, or a worker of the stage before, that listens there.
    pub fn connect_tasks(&self, tasks: &str) -> Result<(), ConnectError> {
        self.tasks.connect(tasks)
    }

    /// Listens for workers of the stage before.
    pub fn bind_tasks(&self, tasks: &str) -> Result<Endpoint, BindError> {
        self.tasks.bind(tasks)
    }

    /// Sends results to the sink, or to a worker of the next stage, that listens there. All who take results are either sinks or
    /// workers of one stage.
    pub fn connect_results(&self, results: &str) -> Result<(), ConnectError> {
        self.results.connect(results)
    }

    /// Listens for workers of the next stage.
    pub fn bind_results(&self, results: &str) -> Result<Endpoint, BindError> {
        self.results.bind(results)
    }

    /// Where tasks come from and results go to, for who does not wait for one result before the next task:
    /// [`Pull::recv_batch`] and [`Pull::reject_tasks`] there, [`Push::pass_on`] here.
    pub fn sockets(&self) -> (&Pull, &Push) {
        (&self.tasks, &self.results)
    }

    /// By which it can be asked to leave.
    pub fn leaver(&self) -> Leaver {
        Leaver { tasks: self.tasks.clone(), leaves: Arc::clone(&self.leaves) }
    }

    /// Does tasks until the ventilator says that there are no more, which it passes on to the next stage, or the worker is
    /// asked to leave.
    pub fn run(&self, mut handle: impl FnMut(Task<'_>) -> Reply) -> Result<WorkerReport, WorkerError> {
        let mut shift = Shift::default();
        let mut pace = Pace::default();
        let mut messages = Vec::with_capacity(BATCH_COUNT);
        while !shift.is_over {
            messages.clear();
            let batch = match self.tasks.recv_batch(&mut messages, BATCH_COUNT, LOOK_INTERVAL) {
                Ok(batch) => batch,
                Err(RecvError::Ended) => break,
                Err(RecvError::TimedOut) if self.is_over() => break,
                Err(RecvError::TimedOut) => {
                    self.look_upstream(&mut shift.absence)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let begin = Instant::now();
            (shift.absence, shift.waited) = (Absence::default(), Duration::ZERO);
            let mut rest = &messages[..];
            for (run, count) in batch.runs {
                let (tasks, behind) = rest.split_at(count as usize);
                self.work(run, tasks, &mut handle, &mut shift)?;
                rest = behind;
            }
            let worked = begin.elapsed().saturating_sub(shift.waited);
            if let Some(time) = pace.note(worked, messages.len() as u64) {
                self.tasks.tell_pace(time);
            }
        }
        self.results.flush();
        if !self.leaves.load(Ordering::SeqCst) {
            // All is done: what is not settled here, a sink that died had reported.
            self.results.end_now();
        } else if !self.results.wait_settled(self.lost_after) {
            return Err(WorkerError::Unsettled { unsettled: self.results.unsettled().count });
        }
        Ok(shift.report)
    }

    /// Whether the ventilator has said that all is done, by way of one of those before: others of them may hang. To one that
    /// leaves, the end says only what is under way.
    pub fn is_over(&self) -> bool {
        !self.leaves.load(Ordering::SeqCst) && self.tasks.has_heard_end()
    }

    /// Does these tasks, which follow each other.
    fn work(
        &self,
        run: TaskRun,
        tasks: &[Message],
        handle: &mut impl FnMut(Task<'_>) -> Reply,
        shift: &mut Shift,
    ) -> Result<(), WorkerError> {
        // Workers of this stage have ended with these. The ventilator does not know how many: it counts those of the first.
        let is_too_often = self.deliveries_max > 0 && run.deliveries >= self.deliveries_max;
        let mut next = None;
        let mut begun = 0;
        for (offset, message) in tasks.iter().enumerate() {
            if shift.is_over {
                break;
            }
            begun += 1;
            let run = run.plus(offset as u64);
            // It is done already. In order, results that wait for their turn would else take up the room of earlier ones.
            if run.deliveries > 0 && self.results.is_under_way(run.id) {
                next = None;
                continue;
            }
            let reply = match is_too_often {
                true => Reply::Reject(format!("given to workers {} times, and not settled", run.deliveries)),
                false => reply(run, message, handle),
            };
            next = self.answer(run, message, &reply, next, shift)?;
        }
        shift.report.task_count += begun;
        shift.report.redelivered_count += if run.deliveries > 0 { begun } else { 0 };
        Ok(())
    }

    /// Passes on what is said of a task, or rejects it. `next` is what kind of result the next message is without further ado, if it is
    /// this task's; returns the same for the task behind.
    #[inline]
    fn answer(
        &self,
        run: TaskRun,
        message: &Message,
        reply: &Reply,
        next: Option<Content>,
        shift: &mut Shift,
    ) -> Result<Option<Content>, WorkerError> {
        let group;
        let (content, output, result_count) = match reply {
            Reply::Same => (Content::Message, message.into(), 1),
            Reply::Result(result) => (Content::Message, result.into(), 1),
            Reply::Nothing => (Content::Nothing, Outgoing::Body(&[]), 0),
            Reply::Results(results) => match &results[..] {
                [] => (Content::Nothing, Outgoing::Body(&[]), 0),
                [result] => (Content::Message, result.into(), 1),
                several => {
                    group = join_group(several);
                    (Content::Group, (&group).into(), several.len() as u64)
                }
            },
            Reply::Reject(reason) => {
                self.tasks.reject_tasks(run.id, 1, reason);
                return Ok(None);
            }
        };
        if next != Some(content) {
            self.results.pass_on(TaskRun { content, ..run });
        }
        match self.pass_on(output, shift) {
            Ok(is_sent) => shift.report.result_count += if is_sent { result_count } else { 0 },
            Err(WorkerError::Send(
                error @ (SendError::TooLarge { .. } | SendError::TooManyFrames { .. }),
            )) => {
                self.tasks.reject_tasks(run.id, 1, &format!("its result cannot be sent: {error}"));
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        Ok(Some(content))
    }

    /// Waits for somebody who takes the result, as long as there is somebody who has given the task. Returns whether it was
    /// taken, and not all is over.
    #[inline]
    fn pass_on(&self, result: Outgoing<'_>, shift: &mut Shift) -> Result<bool, WorkerError> {
        match self.results.send_timeout(result, Duration::ZERO) {
            Ok(()) => Ok(true),
            Err(SendError::TimedOut) => self.pass_on_waiting(result, shift),
            Err(error) => Err(error.into()),
        }
    }

    #[cold]
    fn pass_on_waiting(&self, result: Outgoing<'_>, shift: &mut Shift) -> Result<bool, WorkerError> {
        let begin = Instant::now();
        loop {
            if self.is_over() {
                shift.is_over = true;
                return Ok(false);
            }
            self.look_upstream(&mut shift.absence)?;
            match self.results.send_timeout(result, LOOK_INTERVAL) {
                Ok(()) => break,
                Err(SendError::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
        }
        shift.waited += begin.elapsed();
        Ok(true)
    }

    fn look_upstream(&self, absence: &mut Absence) -> Result<(), WorkerError> {
        let is_there = !self.tasks.peers().is_empty();
        absence.look(is_there, self.lost_after).map_err(WorkerError::UpstreamLost)
    }
}

/// What is to be said of the task: all that comes of its messages.
fn reply(run: TaskRun, message: &Message, handle: &mut impl FnMut(Task<'_>) -> Reply) -> Reply {
    let TaskRun { id, deliveries, content } = run;
    match content {
        Content::Message => handle(Task { message, id, index: 0, count: 1, deliveries }),
        // The stage before says that nothing came of it: nor does anything here.
        Content::Nothing => Reply::Nothing,
        Content::Group => {
            // Who receives a batch checks its groups.
            let messages = split_group(message).unwrap_or_default();
            let mut results = Vec::new();
            for (index, message) in messages.iter().enumerate() {
                match handle(Task { message, id, index, count: messages.len(), deliveries }) {
                    Reply::Same => results.push(message.clone()),
                    Reply::Result(result) => results.push(result),
                    Reply::Results(more) => results.extend(more),
                    Reply::Nothing => {}
                    rejection @ Reply::Reject(_) => return rejection,
                }
            }
            Reply::Results(results)
        }
    }
}
