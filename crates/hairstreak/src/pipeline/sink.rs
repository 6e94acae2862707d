//! `Sink`: has each result once, and knows when it has them all.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{Batch, ControlMessage, TaskId};
use hairstreak_socket::{
    BindError, ConnectError, Context, Dealer, Endpoint, Interest, Message, Options, Outgoing, Poller, Pull,
    RecvError,
};
use hairstreak_wire::settlement::{Ready, Seen};

use super::error::{PipelineError, SinkError};
use super::options::PipelineOptions;

/// Results taken at once, at most; half of the window if that is less, so that workers have something to do meanwhile.
const BATCH_COUNT_MAX: usize = 1024;
/// Sources of which is known what came; of further ones, the one that was heard of longest ago is forgotten.
const SOURCE_COUNT_MAX: usize = 64;
/// How often a sink without results looks whether its ventilator is there.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs of tasks that are done before they are reported.
const UNREPORTED_RUNS_MAX: usize = 256;

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
}

impl Completion {
    fn add(&mut self, seen: &Seen<Message>) {
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
    /// Where that is.
    control_place: Endpoint,
    /// Tells the ventilator's socket of tasks that are done.
    reports: Pull,
    /// Where it says that is, and where that is from here.
    reports_place: Option<(String, String)>,
    /// Tasks that are done and not reported, and how many.
    unreported: Vec<(TaskId, u64)>,
    unreported_count: u64,
    /// Whether the last report went to the ventilator.
    is_reporting: bool,
    poller: Poller,
    /// What the poller found last.
    found: Vec<hairstreak_socket::Ready>,
    keep_order: bool,
    lost_after: Duration,
    /// By epoch, the one heard of last behind.
    sources: Vec<(u64, Seen<Message>)>,
    /// Of sources that have been forgotten.
    past: Completion,
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
    /// When the ventilator was last seen.
    last_seen: Instant,
    is_greeted: bool,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sink({})", self.endpoint)
    }
}

impl Sink {
    /// Listens for workers at `results`, and connects to the ventilator's `control`.
    pub fn bind(results: &str, control: &str, options: &PipelineOptions) -> Result<Sink, PipelineError> {
        let context = Context::new();
        let pull = Pull::with_options(&context, options.passing())?;
        let dealer = Dealer::with_options(&context, Options::default())?;
        dealer.connect(control)?;
        let control_place = control.parse::<Endpoint>().map_err(ConnectError::from)?;
        let reports = Pull::with_options(&context, options.reports())?;
        let mut poller = Poller::new()?;
        poller.add(&pull, RESULTS, Interest::READABLE)?;
        poller.add(&dealer, CONTROL, Interest::READABLE)?;
        let endpoint = pull.bind(results)?;
        Ok(Sink {
            results: pull,
            endpoint,
            control: dealer,
            control_place,
            reports,
            reports_place: None,
            unreported: Vec::new(),
            unreported_count: 0,
            is_reporting: false,
            poller,
            found: Vec::new(),
            keep_order: options.keep_order,
            lost_after: options.lost_after,
            sources: Vec::new(),
            past: Completion::default(),
            messages: Vec::new(),
            batch: None,
            batch_count_max: (options.window / 2).clamp(1, BATCH_COUNT_MAX),
            next_message: 0,
            next_run: 0,
            present: None,
            ready: VecDeque::new(),
            returned: None,
            ended: None,
            last_seen: Instant::now(),
            is_greeted: false,
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
    /// that the last one has been dealt with.
    pub fn recv(&mut self) -> Result<Option<Done>, SinkError> {
        match self.of_present_run() {
            Some(done) => Ok(Some(done)),
            None => self.recv_next(true),
        }
    }

    /// As [`Sink::recv`], without waiting: `None` when no result is here.
    pub fn try_recv(&mut self) -> Result<Option<Done>, SinkError> {
        match self.of_present_run() {
            Some(done) => Ok(Some(done)),
            None => self.recv_next(false),
        }
    }

    fn of_present_run(&mut self) -> Option<Done> {
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

    /// The next result, nothing being left of the present run.
    fn recv_next(&mut self, waits: bool) -> Result<Option<Done>, SinkError> {
        loop {
            if let Some((first, count)) = self.returned.take() {
                self.results.accept_tasks(first, count);
                self.note_done(first, count);
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
                match self.of_present_run() {
                    Some(done) => return Ok(Some(done)),
                    None => continue,
                }
            }
            if let Some(batch) = self.batch.take().filter(|_| !self.keep_order) {
                self.results.accept_batch(&batch);
                batch.runs.iter().for_each(|(run, count)| self.note_done(run.id, *count));
            }
            self.messages.clear();
            match self.results.recv_batch(&mut self.messages, self.batch_count_max, Duration::ZERO) {
                Ok(batch) => (self.batch, self.next_message, self.next_run) = (Some(batch), 0, 0),
                Err(RecvError::TimedOut | RecvError::Ended) if self.ended.is_some() => {
                    self.results.settle_lazily(false);
                    return Ok(None);
                }
                Err(RecvError::TimedOut | RecvError::Ended) if !waits => return Ok(None),
                Err(RecvError::TimedOut | RecvError::Ended) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What has been seen so far.
    pub fn completion(&self) -> Completion {
        let mut completion = self.past;
        for (_, seen) in &self.sources {
            completion.add(seen);
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

    /// Asks the ventilator for a pause.
    pub fn pause(&self) {
        self.say(ControlMessage::Pause);
    }

    /// Asks it to go on.
    pub fn resume(&self) {
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
                    self.past.add(&forgotten);
                }
                self.sources.push((epoch, Seen::default()));
            }
        }
        let at = self.sources.len() - 1;
        &mut self.sources[at].1
    }

    /// What the ventilator has to say.
    fn hear(&mut self) {
        while let Ok(message) = self.control.try_recv() {
            self.last_seen = Instant::now();
            match ControlMessage::decode(message.body()) {
                Some(ControlMessage::Floor(floor)) => self.raise_floor(floor),
                Some(ControlMessage::Tasks(place)) => self.report_to(place),
                Some(ControlMessage::End { epoch, count, rejected }) => {
                    self.raise_floor(TaskId { epoch, sequence: count });
                    self.ended = Some((epoch, count, rejected));
                }
                _ => {}
            }
        }
    }

    /// All tasks below are settled.
    fn raise_floor(&mut self, floor: TaskId) {
        let mut ready = std::mem::take(&mut self.ready);
        self.source(floor.epoch).raise_floor(floor.sequence, &mut |done| ready.push_back(done));
        self.ready = ready;
    }

    /// The ventilator is to hear that these are done: at half of the window, and before the sink sleeps.
    fn note_done(&mut self, first: TaskId, count: u64) {
        self.unreported_count += count;
        match self.unreported.last_mut() {
            Some((before, number)) if before.plus(*number) == first => *number += count,
            _ => self.unreported.push((first, count)),
        }
        if self.unreported_count >= self.batch_count_max as u64
            || self.unreported.len() >= UNREPORTED_RUNS_MAX
        {
            self.report();
        }
    }

    fn report(&mut self) {
        if self.unreported.is_empty() {
            return;
        }
        let is_told = self.reports.report(&self.unreported);
        // Else it hears of it by way of the workers.
        if is_told != self.is_reporting {
            self.is_reporting = is_told;
            self.results.settle_lazily(is_told);
        }
        self.unreported.clear();
        self.unreported_count = 0;
    }

    /// Where the ventilator takes reports.
    fn report_to(&mut self, place: &str) {
        if self.reports_place.as_ref().is_some_and(|(said, _)| said == place) {
            return;
        }
        if let Some((_, before)) = self.reports_place.take() {
            // It may be gone already.
            let _ = self.reports.disconnect(&before);
        }
        let Ok(mut endpoint) = place.parse::<Endpoint>() else { return };
        if let (Endpoint::Tcp(address), Endpoint::Tcp(control)) = (&mut endpoint, &self.control_place)
            && address.host.parse::<IpAddr>().is_ok_and(|host| host.is_unspecified())
        {
            address.host.clone_from(&control.host);
        }
        // A place that cannot be connected to leaves the way by the workers.
        let endpoint = endpoint.to_string();
        if self.reports.connect(&endpoint).is_ok() {
            self.reports_place = Some((place.to_owned(), endpoint));
        }
    }

    /// Waits for results, and hears what the ventilator says meanwhile.
    fn wait(&mut self) -> Result<(), SinkError> {
        self.report();
        self.poller.wait_timeout(&mut self.found, LOOK_INTERVAL)?;
        if self.found.iter().any(|found| found.key == CONTROL) {
            self.hear();
        }
        if self.is_greeted && !self.found.is_empty() {
            return Ok(());
        }
        let is_there = self.control.wait_for_peers(1, Duration::ZERO);
        // Again and again: it may be another by now.
        if is_there {
            self.say(ControlMessage::Hello);
        }
        self.is_greeted = is_there;
        if is_there {
            self.last_seen = Instant::now();
        }
        let lost_for = self.last_seen.elapsed();
        if lost_for >= self.lost_after {
            return Err(SinkError::VentilatorLost(lost_for));
        }
        Ok(())
    }
}
