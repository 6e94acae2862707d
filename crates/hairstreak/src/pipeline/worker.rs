//! `Worker`: takes tasks, does them, and passes the results on. A task is settled when its result is.

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

/// Largest number of tasks taken at once.
const BATCH_COUNT: usize = 1024;

/// Does tasks. `Send + Sync`; fastest on the thread that opened it.
#[derive(Debug)]
pub struct Worker {
    tasks: Pull,
    results: Push,
    lost_after: Duration,
    /// A task with this number of earlier deliveries is not begun; 0 means no limit.
    deliveries_max: u16,
    /// The worker was asked to leave.
    leaves: Arc<AtomicBool>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task<'a> {
    /// The message of the task.
    pub message: &'a Message,
    /// The name of the task.
    pub id: TaskId,
    /// The number of the message within its task, from 0.
    pub index: usize,
    /// Number of messages of the task: one, unless the stage before gave several. The results of all of them are the
    /// task's result.
    pub count: usize,
    /// Number of earlier deliveries to a worker. After one, the task may have been done.
    pub deliveries: u16,
}

/// A worker's answer to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The task is done, and its message, unchanged, is the result.
    Same,
    /// The task is done, and this is the result.
    Result(Message),
    /// The task is done, and these are its results: the sink, or the worker of the next stage, gets all of them or
    /// none. Together they have less than [`Options::frame_count_max`](hairstreak_socket::Options::frame_count_max)
    /// frames and, with four bytes for each, no more than `message_size_max` bytes. Otherwise the task is rejected.
    Results(Vec<Message>),
    /// The task is done, and there is no result.
    Nothing,
    /// No worker can do the task. The text says why. For a task with several messages, one such answer is enough.
    Reject(String),
}

/// The counts of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Tasks that the worker was given.
    pub task_count: u64,
    /// Tasks among them that a worker had been given before.
    pub redelivered_count: u64,
    /// Results that the worker sent. A task may have none or several.
    pub result_count: u64,
}

/// The state of a run.
#[derive(Debug, Default)]
struct Shift {
    report: WorkerReport,
    absence: Absence,
    /// Time spent waiting for a receiver of results, since the last batch began.
    waited: Duration,
    /// There is no receiver, and the ventilator needs no further results.
    is_over: bool,
}

/// Asks a worker to leave, from any thread.
#[derive(Clone, Debug)]
pub struct Leaver {
    tasks: Pull,
    leaves: Arc<AtomicBool>,
}

impl Leaver {
    /// Asks the worker to leave: it gets no new tasks and does the tasks that it has. Then its run ends.
    pub fn leave(&self) {
        self.leaves.store(true, Ordering::SeqCst);
        self.tasks.drain();
    }
}

impl Worker {
    /// Takes tasks from the ventilator at `tasks`, and sends results to the sink at `results`.
    pub fn connect(tasks: &str, results: &str, options: &PipelineOptions) -> Result<Worker, PipelineError> {
        let worker = Worker::new(options)?;
        worker.connect_results(results)?;
        worker.connect_tasks(tasks)?;
        Ok(worker)
    }

    /// Opens a worker without connections. Between two stages either end may listen. Each worker may listen at several
    /// endpoints, and connect to several.
    pub fn new(options: &PipelineOptions) -> Result<Worker, PipelineError> {
        Worker::open(options.tasks_in(), options)
    }

    /// Opens a relay between two stages. It listens for the workers of both, and its `run` returns each task as it came
    /// ([`Reply::Same`]). A relay gives up no task, for any number of deaths. The next stage counts its deaths as
    /// deaths of a worker.
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

    /// Takes tasks from the ventilator, or from a worker of the stage before, at this endpoint.
    pub fn connect_tasks(&self, tasks: &str) -> Result<(), ConnectError> {
        self.tasks.connect(tasks)
    }

    /// Listens for workers of the stage before.
    pub fn bind_tasks(&self, tasks: &str) -> Result<Endpoint, BindError> {
        self.tasks.bind(tasks)
    }

    /// Sends results to the sink, or to a worker of the next stage, at this endpoint. The receivers of results are
    /// either sinks or workers of one stage.
    pub fn connect_results(&self, results: &str) -> Result<(), ConnectError> {
        self.results.connect(results)
    }

    /// Listens for workers of the next stage.
    pub fn bind_results(&self, results: &str) -> Result<Endpoint, BindError> {
        self.results.bind(results)
    }

    /// Returns the sockets of tasks and of results, for a caller that begins the next task before it has a result:
    /// [`Pull::recv_batch`] and [`Pull::reject_tasks`] on the first, [`Push::pass_on`] on the second.
    pub fn sockets(&self) -> (&Pull, &Push) {
        (&self.tasks, &self.results)
    }

    /// Returns a handle that asks the worker to leave.
    pub fn leaver(&self) -> Leaver {
        Leaver { tasks: self.tasks.clone(), leaves: Arc::clone(&self.leaves) }
    }

    /// Does tasks until the ventilator says that there are no more, or the worker is asked to leave. The worker passes
    /// the ventilator's end on to the next stage.
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
            // All tasks are done. A result that is not settled here was reported by a sink that died.
            self.results.end_now();
        } else if !self.results.wait_settled(self.lost_after) {
            return Err(WorkerError::Unsettled { unsettled: self.results.unsettled().count });
        }
        Ok(shift.report)
    }

    /// Returns whether the ventilator has said that all tasks are done. One peer that passes this on is enough: others
    /// may hang. For a worker that leaves, the end covers only the tasks under way.
    pub fn is_over(&self) -> bool {
        !self.leaves.load(Ordering::SeqCst) && self.tasks.has_heard_end()
    }

    /// Does a run of tasks.
    fn work(
        &self,
        run: TaskRun,
        tasks: &[Message],
        handle: &mut impl FnMut(Task<'_>) -> Reply,
        shift: &mut Shift,
    ) -> Result<(), WorkerError> {
        // Workers of this stage died with these tasks. The ventilator does not know how many: it counts workers of the
        // first stage.
        let is_too_often = self.deliveries_max > 0 && run.deliveries >= self.deliveries_max;
        let mut next = None;
        let mut begun = 0;
        for (offset, message) in tasks.iter().enumerate() {
            if shift.is_over {
                break;
            }
            begun += 1;
            let run = run.plus(offset as u64);
            // The task is done already. With `keep_order`, results that wait for their turn would otherwise take the
            // room of earlier results.
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

    /// Passes on the answer to a task, or rejects the task. `next` is the kind of result that the socket expects next,
    /// if the next task is this task. Returns the same for the task behind.
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

    /// Waits for a receiver of the result, as long as a giver of tasks is connected. Returns false if the work is over
    /// and the result was not sent.
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

/// Returns the answer to a task: the results of all its messages.
fn reply(run: TaskRun, message: &Message, handle: &mut impl FnMut(Task<'_>) -> Reply) -> Reply {
    let TaskRun { id, deliveries, content } = run;
    match content {
        Content::Message => handle(Task { message, id, index: 0, count: 1, deliveries }),
        // The stage before had no result for this task, so this stage has none.
        Content::Nothing => Reply::Nothing,
        Content::Group => {
            // A received batch has checked groups.
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
