//! `Sink`: has each result once, and knows when it has them all.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::settlement::{Batch, ControlMessage, TaskId};
use hairstreak_socket::{
    BindError, Context, Dealer, Endpoint, Interest, Message, Outgoing, Poller, Pull, RecvError,
};
use hairstreak_wire::settlement::{Ready, Seen};

use super::absence::{Absence, LOOK_INTERVAL};
use super::error::{PipelineError, SinkError};
use super::options::PipelineOptions;
use super::reports::Reports;
use super::seen_tasks::{SeenSource, SeenTasks};

/// Results taken at once, at most; half of the window if that is less, so that workers have something to do meanwhile.
const BATCH_COUNT_MAX: usize = 1024;
/// Sources of which is known what came; of further ones, the one that was heard of longest ago is forgotten.
const SOURCE_COUNT_MAX: usize = 64;
/// Batches between two looks at what the ventilator has to say, while there are results.
const HEAR_INTERVAL: u32 = 16;

/// The poller's keys.
const RESULTS: usize = 0;
const CONTROL: usize = 1;

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Of which task.
    pub task: TaskId,
    /// The result.
    pub message: Message,
}

/// What a sink has seen; all of it when there is an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Tasks of the work, once the ventilator has said how many there were.
    pub task_count: Option<u64>,
    /// Results delivered; a task may have none.
    pub result_count: u64,
    /// Of those, results of tasks that more than one worker was given.
    pub redelivered_count: u64,
    /// Results that came again and were not delivered.
    pub duplicate_count: u64,
    /// Tasks that were rejected or given up.
    pub rejected_count: u64,
    /// Results delivered of tasks of earlier ventilators, which died before their work was done. The other numbers are
    /// without them.
    pub earlier_result_count: u64,
}

impl Completion {
    fn add(&mut self, seen: &Seen<Message>, is_current: bool) {
        if !is_current {
            self.earlier_result_count += seen.count;
            return;
        }
        self.result_count += seen.count;
        self.redelivered_count += seen.redelivered_count;
        self.duplicate_count += seen.duplicate_count;
    }
}

impl fmt::Display for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task_count {
            Some(count) => write!(f, "all {count} done")?,
            None => write!(f, "not done, {} results so far", self.result_count)?,
        }
        write!(f, ", {} redelivered, {} rejected", self.redelivered_count, self.rejected_count)
    }
}

/// Has the results.
pub struct Sink {
    results: Pull,
    endpoint: Endpoint,
    control: Dealer,
    reports: Reports,
    poller: Poller,
    /// What the poller found last.
    found: Vec<hairstreak_socket::Ready>,
    keep_order: bool,
    lost_after: Duration,
    /// By epoch, the one heard of last behind.
    sources: Vec<(u64, Seen<Message>)>,
    /// Of sources that have been forgotten.
    past: Completion,
    /// The epoch of the ventilator that is there, as far as it has been heard of.
    current: Option<u64>,
    /// What was received last, and what names and settles it.
    messages: Vec<Message>,
    batch: Option<Batch>,
    batch_count_max: usize,
    /// Of that: the next message, the next run, and what is left of the present one, if it is delivered as it came.
    next_message: usize,
    next_run: usize,
    present: Option<(TaskId, u64)>,
    /// Of a present run that needs a closer look.
    ready: VecDeque<Ready<Message>>,
    /// In order: tasks whose results were returned, which are settled when more is asked for.
    returned: Option<(TaskId, u64)>,
    ended: Option<(u64, u64, u64)>,
    /// Whether the ventilator has said what is done already.
    is_introduced: bool,
    absence: Absence,
    /// The connection on which the ventilator has been greeted.
    greeted: Option<ConnectionId>,
    /// Whether it wants a pause.
    pauses: AtomicBool,
    /// Batches since the ventilator was last heard.
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

    /// As [`Sink::bind`], for an application that has had the results of these tasks: what the sink before this one said
    /// in [`Sink::seen`].
    pub fn resume_from(
        seen: SeenTasks,
        results: &str,
        control: &str,
        options: &PipelineOptions,
    ) -> Result<Sink, PipelineError> {
        let context = Context::new();
        let pull = Pull::with_options(&context, options.passing())?;
        let dealer = Dealer::with_options(&context, options.control())?;
        dealer.connect(control)?;
        let batch_count_max = (options.window.count_max() / 2).clamp(1, BATCH_COUNT_MAX);
        let reports = Reports::new(&context, control, batch_count_max, options)?;
        let mut poller = Poller::new()?;
        poller.add(&pull, RESULTS, Interest::READABLE)?;
        poller.add(&dealer, CONTROL, Interest::READABLE)?;
        let endpoint = pull.bind(results)?;
        let resumed = |source: SeenSource| (source.epoch, Seen::resumed(source.ranges, source.count));
        Ok(Sink {
            results: pull,
            endpoint,
            control: dealer,
            reports,
            poller,
            found: Vec::new(),
            keep_order: options.keep_order,
            lost_after: options.lost_after,
            sources: seen.sources.into_iter().map(resumed).collect(),
            past: Completion::default(),
            current: None,
            messages: Vec::new(),
            batch: None,
            batch_count_max,
            next_message: 0,
            next_run: 0,
            present: None,
            ready: VecDeque::new(),
            returned: None,
            ended: None,
            is_introduced: false,
            absence: Absence::default(),
            greeted: None,
            pauses: AtomicBool::new(false),
            // It may have much to do before it waits.
            batch_count: HEAR_INTERVAL,
        })
    }

    /// Where workers connect.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Listens for workers at another place too.
    pub fn listen(&self, results: &str) -> Result<Endpoint, BindError> {
        self.results.bind(results)
    }

    /// The next result, waiting for it; `None` when the ventilator has said that all tasks are done. Asking for it says
    /// that what was returned before has been dealt with: stored, if it is to be there after the death of this process.
    pub fn recv(&mut self) -> Result<Option<Done>, SinkError> {
        match self.take_present() {
            Some(done) => Ok(Some(done)),
            None => self.recv_next(true),
        }
    }

    /// As [`Sink::recv`], without waiting: `None` when no result is here.
    pub fn try_recv(&mut self) -> Result<Option<Done>, SinkError> {
        match self.take_present() {
            Some(done) => Ok(Some(done)),
            None => self.recv_next(false),
        }
    }

    /// As [`Sink::recv`], with results that are here, appended to `results`: a thousand or so at most. Returns how many; 0
    /// when all tasks are done.
    pub fn recv_many(&mut self, results: &mut Vec<Done>) -> Result<usize, SinkError> {
        let before = results.len();
        results.extend(self.recv()?);
        while results.len() > before
            && let Some(done) = self.take_present().or_else(|| self.take_along())
        {
            results.push(done);
        }
        Ok(results.len() - before)
    }

    /// Whose results have been returned. Stored in one step with the results, before more are asked for, it makes a sink
    /// that is started again go on with each result exactly once: [`Sink::resume_from`].
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
        let source = |(epoch, seen): &(u64, Seen<Message>)| {
            let ready = self.ready.iter().filter_map(|next| match next {
                Ready::Result(task, _) if task.epoch == *epoch => Some(task.sequence),
                _ => None,
            });
            let present = self.present.filter(|(task, _)| task.epoch == *epoch);
            let present = present.into_iter().flat_map(|(task, left)| task.sequence..task.sequence + left);
            let (ranges, count) = seen.had(ready.chain(present));
            SeenSource { epoch: *epoch, count, ranges }
        };
        SeenTasks { sources: self.sources.iter().map(source).collect() }
    }

    /// The next result of the present run.
    fn take_present(&mut self) -> Option<Done> {
        let (task, left) = self.present.as_mut()?;
        let next = *task;
        (*task, *left) = (task.plus(1), *left - 1);
        if *left == 0 {
            self.present = None;
        }
        let message = std::mem::take(&mut self.messages[self.next_message]);
        self.next_message += 1;
        Some(Done { task: next, message })
    }

    /// The next result behind it, if it is settled together with those that were returned: of the same batch, or, in
    /// order, the next task.
    fn take_along(&mut self) -> Option<Done> {
        loop {
            if let Some(Ready::Result(task, _) | Ready::Over(task)) = self.ready.front() {
                if self.keep_order {
                    let (first, count) = self.returned.as_mut()?;
                    if first.plus(*count) != *task {
                        return None;
                    }
                    *count += 1;
                }
                match self.ready.pop_front() {
                    Some(Ready::Result(task, message)) => return Some(Done { task, message }),
                    _ => continue,
                }
            }
            if self.keep_order || !self.begin_run() {
                return None;
            }
            if let Some(done) = self.take_present() {
                return Some(done);
            }
        }
    }

    /// The next result, nothing being left of the present run.
    fn recv_next(&mut self, waits: bool) -> Result<Option<Done>, SinkError> {
        loop {
            if let Some((first, count)) = self.returned.take() {
                self.results.accept_tasks(first, count);
                self.reports.note(first, count, &self.results);
            }
            match self.ready.pop_front() {
                Some(Ready::Result(task, message)) => {
                    self.returned = self.keep_order.then_some((task, 1));
                    return Ok(Some(Done { task, message }));
                }
                Some(Ready::Over(task)) => {
                    self.returned = self.keep_order.then_some((task, 1));
                    continue;
                }
                None => {}
            }
            if self.begin_run() {
                match self.take_present() {
                    Some(done) => return Ok(Some(done)),
                    None => continue,
                }
            }
            if let Some(batch) = self.batch.take().filter(|_| !self.keep_order) {
                self.results.accept_batch(&batch);
                for (run, count) in batch.runs {
                    self.reports.note(run.id, count, &self.results);
                }
            }
            self.messages.clear();
            if !self.is_introduced {
                self.seek_introduction(waits)?;
                if self.is_introduced || waits {
                    continue;
                }
                return Ok(None);
            }
            match self.results.recv_batch(&mut self.messages, self.batch_count_max, Duration::ZERO) {
                Ok(batch) => {
                    (self.batch, self.next_message, self.next_run) = (Some(batch), 0, 0);
                    self.batch_count += 1;
                    if self.batch_count >= HEAR_INTERVAL {
                        self.look_aside()?;
                    }
                }
                Err(RecvError::TimedOut | RecvError::Ended) if self.ended.is_some() => {
                    self.results.settle_lazily(false);
                    return Ok(None);
                }
                Err(RecvError::TimedOut | RecvError::Ended) if !waits => {
                    self.reports.tell(&self.results);
                    self.look_aside()?;
                    return Ok(None);
                }
                Err(RecvError::TimedOut | RecvError::Ended) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What has been seen so far.
    pub fn completion(&self) -> Completion {
        let mut completion = self.past;
        for (epoch, seen) in &self.sources {
            completion.add(seen, self.current.is_none_or(|current| current == *epoch));
        }
        if let Some((_, count, rejected)) = self.ended {
            completion.task_count = Some(count);
            completion.rejected_count = rejected;
        }
        completion
    }

    /// Asks the ventilator for no more tasks.
    pub fn stop(&self) {
        self.say(ControlMessage::Stop);
    }

    /// Asks the ventilator for a pause, until this sink asks it to go on, or is gone.
    pub fn pause(&self) {
        self.pauses.store(true, Ordering::Relaxed);
        self.say(ControlMessage::Pause);
    }

    /// Asks it to go on.
    pub fn resume(&self) {
        self.pauses.store(false, Ordering::Relaxed);
        self.say(ControlMessage::Resume);
    }

    fn say(&self, message: ControlMessage<'_>) {
        let bytes = message.encode();
        // It waits for a ventilator that has not come yet; one that takes nothing has stopped anyway.
        let _ = self.control.try_send(Outgoing::Body(&bytes));
        self.control.flush();
    }

    /// Takes up the next run of the batch, telling new results from those that came before. Returns whether there was
    /// one.
    fn begin_run(&mut self) -> bool {
        let Some(&(run, count)) = self.batch.as_ref().and_then(|batch| batch.runs.get(self.next_run)) else {
            return false;
        };
        self.next_run += 1;
        let keep_order = self.keep_order;
        if self.source(run.id.epoch).take_new(run, count, keep_order) {
            self.present = Some((run.id, count));
            self.returned = keep_order.then_some((run.id, count));
            return true;
        }
        let mut ready = std::mem::take(&mut self.ready);
        let (first, end) = (self.next_message, self.next_message + count as usize);
        let mut messages = std::mem::take(&mut self.messages);
        let results = messages[first..end].iter_mut().map(std::mem::take);
        self.source(run.id.epoch).take(run, count, results, keep_order, &mut |done| ready.push_back(done));
        (self.messages, self.ready, self.next_message) = (messages, ready, end);
        true
    }

    /// What is known of a source.
    fn source(&mut self, epoch: u64) -> &mut Seen<Message> {
        let known = self.sources.iter().position(|(other, _)| *other == epoch);
        let last = self.sources.len().saturating_sub(1);
        match known {
            Some(at) if at == last => {}
            Some(at) => self.sources[at..].rotate_left(1),
            None => {
                if self.sources.len() >= SOURCE_COUNT_MAX {
                    let (_, forgotten) = self.sources.remove(0);
                    self.past.add(&forgotten, false);
                }
                self.sources.push((epoch, Seen::default()));
            }
        }
        let at = self.sources.len() - 1;
        &mut self.sources[at].1
    }

    /// What the ventilator says, if the poller has found that it says something: to ask in vain would have the results read
    /// ahead, one by one. Returns whether it has.
    fn hear(&mut self) -> bool {
        let is_said = self.found.iter().any(|found| found.key == CONTROL);
        if is_said && let Ok(message) = self.control.try_recv() {
            self.take_control(&message);
        }
        is_said
    }

    fn take_control(&mut self, message: &Message) {
        match ControlMessage::decode(message.body()) {
            Some(ControlMessage::Floor(floor)) => self.raise_floor(floor),
            Some(ControlMessage::Tasks(place)) => self.reports.go_to(place),
            Some(ControlMessage::Left(next, left)) => {
                self.source(next.epoch).skip_settled(next.sequence, left);
            }
            Some(ControlMessage::End { epoch, count, rejected }) => {
                self.raise_floor(TaskId { epoch, sequence: count });
                self.ended = Some((epoch, count, rejected));
            }
            _ => {}
        }
    }

    /// All tasks below are settled.
    fn raise_floor(&mut self, floor: TaskId) {
        self.is_introduced = true;
        let mut ready = std::mem::take(&mut self.ready);
        if self.current.replace(floor.epoch) != Some(floor.epoch) {
            // The ventilators before it are dead, and nobody has their other tasks. What waits for those waits no longer.
            for (_, seen) in self.sources.iter_mut().filter(|(epoch, _)| *epoch != floor.epoch) {
                seen.raise_floor(u64::MAX, &mut |done| ready.push_back(done));
            }
        }
        self.source(floor.epoch).raise_floor(floor.sequence, &mut |done| ready.push_back(done));
        self.ready = ready;
    }

    /// Hears what the ventilator says while there are results.
    fn look_aside(&mut self) -> Result<(), SinkError> {
        self.batch_count = 0;
        if self.greet() {
            self.absence = Absence::default();
        }
        loop {
            self.poller.wait_timeout(&mut self.found, Duration::ZERO)?;
            if !self.hear() {
                return Ok(());
            }
        }
    }

    /// The ventilator is to say what is done already: workers may have results of it that they have not heard to be settled,
    /// and that would come again.
    fn seek_introduction(&mut self, waits: bool) -> Result<(), SinkError> {
        let patience = if waits { LOOK_INTERVAL } else { Duration::ZERO };
        let is_there = self.control.wait_for_peers(1, patience) && self.greet();
        self.absence.look(is_there, self.lost_after).map_err(SinkError::VentilatorLost)?;
        if let Ok(message) = self.control.recv_timeout(if is_there { patience } else { Duration::ZERO }) {
            self.take_control(&message);
        }
        Ok(())
    }

    /// Waits for results, and hears what the ventilator says meanwhile.
    fn wait(&mut self) -> Result<(), SinkError> {
        self.reports.tell(&self.results);
        self.poller.wait_timeout(&mut self.found, LOOK_INTERVAL)?;
        self.hear();
        if self.greeted.is_some() && !self.found.is_empty() {
            return Ok(());
        }
        let is_there = self.greet();
        self.absence.look(is_there, self.lost_after).map_err(SinkError::VentilatorLost)
    }

    /// Greets a ventilator that has come, or come again. Returns whether one is there.
    fn greet(&mut self) -> bool {
        let connection = self.control.peers().first().map(|peer| peer.connection);
        if connection.is_some() && self.greeted != connection {
            self.say(ControlMessage::Hello);
            if self.pauses.load(Ordering::Relaxed) {
                self.say(ControlMessage::Pause);
            }
        }
        self.greeted = connection;
        connection.is_some()
    }
}
