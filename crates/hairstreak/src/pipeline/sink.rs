//! `Sink`: delivers each result once, and knows when all are delivered.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use hairstreak_socket::settlement::{Batch, Content, ControlMessage, TaskId, split_group};
use hairstreak_socket::{BindError, Context, Endpoint, Interest, Message, Poller, Pull, RecvError};
use hairstreak_wire::settlement::Ready;

use super::control_link::ControlLink;
use super::error::{PipelineError, SinkError};
use super::options::{LOOK_INTERVAL, PipelineOptions};
use super::reports::Reports;
use super::seen_tasks::SeenTasks;
use super::settler::Settler;
use super::sources::{Arrival, Completion, Pending, Sources};

/// Largest number of results taken at once; half of the window if that is less, so that workers have tasks meanwhile.
const BATCH_COUNT_MAX: usize = 1024;
/// Number of batches between two looks at the ventilator's messages, while there are results.
const HEAR_COUNT: u32 = 16;

/// The poller's keys.
const RESULTS: usize = 0;
const CONTROL: usize = 1;

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The task of the result.
    pub task: TaskId,
    /// The result.
    pub message: Message,
    /// The number of the result within its task, from 0.
    pub index: usize,
    /// The result is the last of its task.
    pub is_last: bool,
}

impl Done {
    fn only(task: TaskId, message: Message) -> Done {
        Done { task, message, index: 0, is_last: true }
    }
}

/// The results of a task that has several, as far as they are not delivered.
#[derive(Debug)]
struct Group {
    task: TaskId,
    count: usize,
    results: std::iter::Enumerate<std::vec::IntoIter<Message>>,
}

/// Receives the results of a pipeline.
pub struct Sink {
    results: Pull,
    endpoint: Endpoint,
    control: ControlLink,
    settler: Settler,
    poller: Poller,
    /// The sockets that the poller found ready last.
    found: Vec<hairstreak_socket::Ready>,
    keep_order: bool,
    sources: Sources,
    /// The messages received last, and the batch that names and settles them.
    messages: Vec<Message>,
    batch: Option<Batch>,
    batch_count_max: usize,
    /// The position in the batch: the next message, the next run, and the rest of the present run if it is delivered as
    /// it came.
    next_message: usize,
    next_run: usize,
    present: Option<(TaskId, u64)>,
    /// Results of a present run that is not delivered as it came.
    ready: VecDeque<Ready<Arrival>>,
    /// The results of a task with several that are not returned yet: at least one.
    group: Option<Group>,
    /// With `keep_order`: returned tasks that are settled when the application asks for more.
    returned: Option<(TaskId, u64)>,
    /// Batches since the last look at the ventilator's messages.
    batch_count: u32,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sink({})", self.endpoint)
    }
}

impl Sink {
    /// Listens for workers at `results`, and connects to the ventilator's `control`.
    pub fn bind(results: &str, control: &str, options: &PipelineOptions) -> Result<Sink, PipelineError> {
        Sink::resume_from(SeenTasks::default(), results, control, options)
    }

    /// Does the same as [`Sink::bind`], for an application that has had the results of the tasks `seen`: the value of
    /// [`Sink::seen`] of the sink before.
    pub fn resume_from(
        seen: SeenTasks,
        results: &str,
        control: &str,
        options: &PipelineOptions,
    ) -> Result<Sink, PipelineError> {
        let context = Context::new();
        let pull = Pull::with_options(&context, options.results_in())?;
        let link = ControlLink::connect(&context, control, options)?;
        let batch_count_max = (options.window.count_max() / 2).clamp(1, BATCH_COUNT_MAX);
        let reports = Reports::new(&context, control, batch_count_max, options)?;
        let mut poller = Poller::new()?;
        poller.add(&pull, RESULTS, Interest::READABLE)?;
        poller.add(link.socket(), CONTROL, Interest::READABLE)?;
        let endpoint = pull.bind(results)?;
        Ok(Sink {
            settler: Settler::new(pull.clone(), reports),
            results: pull,
            endpoint,
            control: link,
            poller,
            found: Vec::new(),
            keep_order: options.keep_order,
            sources: Sources::resumed(seen),
            messages: Vec::new(),
            batch: None,
            batch_count_max,
            next_message: 0,
            next_run: 0,
            present: None,
            ready: VecDeque::new(),
            group: None,
            returned: None,
            // The sink may have much to do before it waits.
            batch_count: HEAR_COUNT,
        })
    }

    /// Returns the endpoint to which workers connect.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Listens for workers at another endpoint too.
    pub fn listen(&self, results: &str) -> Result<Endpoint, BindError> {
        self.results.bind(results)
    }

    /// Waits for the next result and returns it; `None` when the ventilator has said that all tasks are done. The call
    /// says that the application has dealt with the results before: it has stored them, if they must survive this
    /// process.
    #[inline]
    pub fn recv(&mut self) -> Result<Option<Done>, SinkError> {
        match self.take_next() {
            Some(done) => Ok(Some(done)),
            None => self.recv_next(true),
        }
    }

    /// Does the same as [`Sink::recv`] without waiting: `None` if no result is here.
    pub fn try_recv(&mut self) -> Result<Option<Done>, SinkError> {
        match self.take_next() {
            Some(done) => Ok(Some(done)),
            None => self.recv_next(false),
        }
    }

    /// Does the same as [`Sink::recv`] for all results that are here, and appends them to `results`. The limit is about
    /// a thousand tasks; a task comes with all of its results. Returns the number of results; 0 when all tasks are
    /// done.
    pub fn recv_many(&mut self, results: &mut Vec<Done>) -> Result<usize, SinkError> {
        let before = results.len();
        results.extend(self.recv()?);
        self.take_run(results);
        while results.len() > before
            && let Some(done) = self.take_next().or_else(|| self.take_along())
        {
            results.push(done);
            self.take_run(results);
        }
        Ok(results.len() - before)
    }

    /// Returns the tasks whose results have been returned. A task with several results counts when all are returned. An
    /// application that takes results singly stores after a result with [`Done::is_last`]; otherwise the returned
    /// results of the task come again.
    ///
    /// Store this value together with the results, in one step, before asking for more. [`Sink::resume_from`] then
    /// continues with each result exactly once.
    ///
    /// ```no_run
    /// # use hairstreak::pipeline::{PipelineOptions, SeenTasks, Sink};
    /// # fn load() -> Vec<u8> { vec![1] }
    /// # fn store_in_one_step<R>(_: &[R], _: &[u8]) {}
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let seen = SeenTasks::from_bytes(&load())?;
    /// let options = PipelineOptions::default();
    /// let mut sink = Sink::resume_from(seen, "tcp://*:5558", "tcp://localhost:5556", &options)?;
    /// let mut results = Vec::new();
    /// while sink.recv_many(&mut results)? > 0 {
    ///     store_in_one_step(&results, &sink.seen().to_bytes());
    ///     results.clear();
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn seen(&self) -> SeenTasks {
        let group = self.group.as_ref().map(|group| (group.task, group.count as u64));
        let pending = Pending { present: self.present, group };
        self.sources.seen(&self.ready, pending, self.settler.rejected())
    }

    /// Returns the next result of the task, or of the run, whose results are being returned.
    #[inline]
    fn take_next(&mut self) -> Option<Done> {
        if self.group.is_some() { self.take_of_group() } else { self.take_present() }
    }

    fn take_of_group(&mut self) -> Option<Done> {
        let Group { task, results, .. } = self.group.as_mut()?;
        let (task, next, is_last) = (*task, results.next(), results.len() == 0);
        if is_last {
            self.group = None;
        }
        next.map(|(index, message)| Done { task, message, index, is_last })
    }

    /// Begins to return the results of a task. Returns the first.
    fn begin(&mut self, task: TaskId, Arrival { message, is_group }: Arrival) -> Option<Done> {
        // A received batch has checked groups, so every group can be split.
        let Some(results) = Some(&message).filter(|_| is_group).and_then(split_group) else {
            return Some(Done::only(task, message));
        };
        let count = results.len();
        self.sources.note_group(task, count as u64);
        self.group = Some(Group { task, count, results: results.into_iter().enumerate() });
        self.take_of_group()
    }

    /// Returns the rest of the present run. Results are written directly to their place: moving a result just after it
    /// was put together stalls on its bytes, at a tenth of the cost of a cheap task.
    fn take_run(&mut self, results: &mut Vec<Done>) {
        let Some((first, count)) = self.present.take() else { return };
        let end = self.next_message + count as usize;
        let messages = self.messages[self.next_message..end].iter_mut().enumerate();
        results.extend(
            messages.map(|(offset, message)| Done::only(first.plus(offset as u64), std::mem::take(message))),
        );
        self.next_message = end;
    }

    /// Returns the next result of the present run.
    #[inline]
    fn take_present(&mut self) -> Option<Done> {
        let (task, left) = self.present.as_mut()?;
        let next = *task;
        (*task, *left) = (task.plus(1), *left - 1);
        if *left == 0 {
            self.present = None;
        }
        let message = std::mem::take(&mut self.messages[self.next_message]);
        self.next_message += 1;
        Some(Done::only(next, message))
    }

    /// Returns the next result behind it, if it is settled together with the returned results. That is a result of the
    /// same batch or, with `keep_order`, of the next task.
    fn take_along(&mut self) -> Option<Done> {
        loop {
            if let Some(next) = self.ready.front() {
                if self.keep_order {
                    // A dropped result is settled by itself, because it is not reported.
                    let (first, count) = self.returned.as_mut()?;
                    if first.plus(*count) != next.task() || matches!(next, Ready::Dropped(_)) {
                        return None;
                    }
                    *count += 1;
                }
                match self.ready.pop_front() {
                    Some(Ready::Result(task, arrival)) => return self.begin(task, arrival),
                    Some(Ready::Dropped(task)) => self.settler.note_dropped(task),
                    Some(Ready::Over(_)) | None => {}
                }
                continue;
            }
            if self.keep_order || !self.begin_run() {
                return None;
            }
            if let Some(done) = self.take_present() {
                return Some(done);
            }
        }
    }

    /// Returns the next result when nothing is left of the present run.
    fn recv_next(&mut self, waits: bool) -> Result<Option<Done>, SinkError> {
        loop {
            if let Some(done) = self.take_here() {
                return Ok(Some(done));
            }
            self.end_batch();
            if !self.sources.is_introduced() {
                self.seek_introduction(waits)?;
                if self.sources.is_introduced() || waits {
                    continue;
                }
                return Ok(None);
            }
            match self.results.recv_batch(&mut self.messages, self.batch_count_max, Duration::ZERO) {
                Ok(batch) => self.begin_batch(batch)?,
                Err(RecvError::TimedOut | RecvError::Ended) if self.sources.have_ended() => {
                    self.settler.tell();
                    self.results.settle_lazily(false);
                    return Ok(None);
                }
                Err(RecvError::TimedOut | RecvError::Ended) if !waits => {
                    self.settler.tell();
                    self.look_aside()?;
                    return Ok(None);
                }
                Err(RecvError::TimedOut | RecvError::Ended) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the next result that is here and has its turn. With `keep_order`, settles the results returned before.
    fn take_here(&mut self) -> Option<Done> {
        loop {
            if let Some((first, count)) = self.returned.take() {
                self.settler.settle(first, count);
            }
            match self.ready.pop_front() {
                Some(Ready::Result(task, arrival)) => {
                    self.returned = self.keep_order.then_some((task, 1));
                    return self.begin(task, arrival);
                }
                Some(Ready::Over(task)) => self.returned = self.keep_order.then_some((task, 1)),
                Some(Ready::Dropped(task)) => {
                    self.settler.note_dropped(task);
                    self.returned = self.keep_order.then_some((task, 1));
                }
                None if self.begin_run() => {
                    if let Some(done) = self.take_present() {
                        return Some(done);
                    }
                }
                None => return None,
            }
        }
    }

    fn begin_batch(&mut self, batch: Batch) -> Result<(), SinkError> {
        (self.batch, self.next_message, self.next_run) = (Some(batch), 0, 0);
        self.batch_count += 1;
        if self.batch_count >= HEAR_COUNT { self.look_aside() } else { Ok(()) }
    }

    /// Ends a batch of which nothing is left, and settles it. With `keep_order`, tasks are settled singly instead.
    fn end_batch(&mut self) {
        if let Some(batch) = self.batch.take().filter(|_| !self.keep_order) {
            self.settler.settle_batch(&batch);
        }
        self.messages.clear();
    }

    /// Rejects the result of this task, which the last call returned, for this reason (255 bytes of it). The task is
    /// not done again, and the ventilator has the reason
    /// ([`Ventilator::take_refusals`](super::Ventilator::take_refusals)). The rest of several results is not delivered.
    /// Returns false, and does nothing, if the result is settled or was rejected. Results from before the last call may
    /// be settled.
    pub fn reject(&mut self, task: TaskId, reason: &str) -> bool {
        if !self.is_unsettled(task) || !self.settler.reject(task, reason) {
            return false;
        }
        let group = self.group.take_if(|group| group.task == task);
        self.sources.note_unwanted(task, group.map_or(0, |group| group.results.len() as u64));
        true
    }

    /// Returns whether results of the task were taken and are not settled.
    fn is_unsettled(&self, task: TaskId) -> bool {
        let has = |(first, count): (TaskId, u64)| (first..first.plus(count)).contains(&task);
        match &self.batch {
            Some(batch) if !self.keep_order => batch.runs.iter().any(|(run, count)| has((run.id, *count))),
            _ => self.returned.is_some_and(has),
        }
    }

    /// Returns the counts so far.
    pub fn completion(&self) -> Completion {
        self.sources.completion()
    }

    /// Asks the ventilator for no more tasks. After this has arrived, the ventilator hands out none, except one for
    /// each thread that waits for room and gets it within 100 ms. A ventilator whose connection is not up is asked when
    /// this sink next looks for results. The same holds for [`Sink::pause`] and [`Sink::resume`].
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Asks the ventilator for a pause, until this sink resumes or is gone. After this has arrived, the ventilator
    /// hands out no task, except one for each thread that waits for room.
    pub fn pause(&self) {
        self.control.pause();
    }

    /// Asks the ventilator to go on. The pause of another sink continues.
    pub fn resume(&self) {
        self.control.resume();
    }

    /// Takes up the next run of the batch, and separates new results from results that came before. Returns whether
    /// there was a run.
    fn begin_run(&mut self) -> bool {
        let Some(&(run, count)) = self.batch.as_ref().and_then(|batch| batch.runs.get(self.next_run)) else {
            return false;
        };
        self.next_run += 1;
        let (keep_order, seen) = (self.keep_order, self.sources.of(run.id.epoch));
        if seen.take_new(run, count, keep_order) {
            self.present = Some((run.id, count));
            self.returned = keep_order.then_some((run.id, count));
            return true;
        }
        let (first, end) = (self.next_message, self.next_message + count as usize);
        let is_group = run.content == Content::Group;
        let arrivals = self.messages[first..end].iter_mut().map(std::mem::take);
        let results = arrivals.map(|message| Arrival { message, is_group });
        let ready = &mut self.ready;
        seen.take(run, count, results, keep_order, &mut |done| ready.push_back(done));
        self.next_message = end;
        true
    }

    /// Reads a message of the ventilator if the poller has found one: a read in vain would read results ahead, singly.
    /// Returns whether the poller has found one.
    fn hear(&mut self) -> bool {
        let is_said = self.found.iter().any(|found| found.key == CONTROL);
        if is_said && let Some(message) = self.control.recv(Duration::ZERO) {
            self.take_control(&message);
        }
        is_said
    }

    fn take_control(&mut self, message: &Message) {
        if let Some(said) = ControlMessage::decode(message.body()) {
            self.settler.hear(said);
            self.sources.take(said, &mut self.ready);
        }
    }

    /// Reads the ventilator's messages while there are results.
    fn look_aside(&mut self) -> Result<(), SinkError> {
        self.batch_count = 0;
        self.control.greet_in_passing();
        loop {
            self.poller.wait_timeout(&mut self.found, Duration::ZERO)?;
            if !self.hear() {
                return Ok(());
            }
        }
    }

    /// Waits for the ventilator to say which tasks are done. Workers may have results of these tasks whose settlement
    /// they have not heard, and these would come again.
    fn seek_introduction(&mut self, waits: bool) -> Result<(), SinkError> {
        let patience = if waits { LOOK_INTERVAL } else { Duration::ZERO };
        let is_there = self.control.greet_within(patience)?;
        if let Some(message) = self.control.recv(if is_there { patience } else { Duration::ZERO }) {
            self.take_control(&message);
        }
        Ok(())
    }

    /// Waits for results, and reads the ventilator's messages meanwhile.
    fn wait(&mut self) -> Result<(), SinkError> {
        self.settler.tell();
        self.poller.wait_timeout(&mut self.found, LOOK_INTERVAL)?;
        self.hear();
        if self.control.is_greeted() && !self.found.is_empty() {
            return Ok(());
        }
        self.control.look_for()
    }
}
