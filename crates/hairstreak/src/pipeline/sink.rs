//! `Sink`: has each result once, and knows when it has them all.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{Batch, ControlMessage, TaskId};
use hairstreak_socket::{
    Context, Dealer, Endpoint, Interest, Message, Options, Outgoing, Poller, Pull, RecvError,
};
use hairstreak_wire::settlement::{Ready, Seen};

use super::error::{PipelineError, SinkError};
use super::options::PipelineOptions;

/// Results taken at once.
const BATCH_COUNT: usize = 1024;
/// Sources of which is known what came; of further ones, the one that was heard of longest ago is forgotten.
const SOURCE_COUNT_MAX: usize = 64;
/// How often a sink without results looks whether its ventilator is there.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

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
    poller: Poller,
    keep_order: bool,
    lost_after: Duration,
    /// By epoch, the one heard of last behind.
    sources: Vec<(u64, Seen<Message>)>,
    /// Of sources that have been forgotten.
    past: Completion,
    ready: VecDeque<Ready<Message>>,
    /// The batch whose results are in `ready`.
    batch: Option<Batch>,
    /// In order: the result that was returned last, which the next call settles.
    last: Option<TaskId>,
    messages: Vec<Message>,
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
        let mut poller = Poller::new()?;
        poller.add(&pull, 0, Interest::READABLE)?;
        poller.add(&dealer, 1, Interest::READABLE)?;
        let endpoint = pull.bind(results)?;
        Ok(Sink {
            results: pull,
            endpoint,
            control: dealer,
            poller,
            keep_order: options.keep_order,
            lost_after: options.lost_after,
            sources: Vec::new(),
            past: Completion::default(),
            ready: VecDeque::new(),
            batch: None,
            last: None,
            messages: Vec::new(),
            ended: None,
            last_seen: Instant::now(),
            is_greeted: false,
        })
    }

    /// Where workers connect.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The next result, waiting for it; `None` when the ventilator has said that all tasks are done. Asking for it says
    /// that the last one has been dealt with.
    pub fn recv(&mut self) -> Result<Option<Done>, SinkError> {
        if let Some(last) = self.last.take() {
            self.results.accept_tasks(last, 1);
        }
        loop {
            match self.ready.pop_front() {
                Some(Ready::Result(task, message)) => {
                    self.last = self.keep_order.then_some(task);
                    return Ok(Some(Done { task, message }));
                }
                Some(Ready::Over(task)) => {
                    if self.keep_order {
                        self.results.accept_tasks(task, 1);
                    }
                    continue;
                }
                None => {}
            }
            if let Some(batch) = self.batch.take() {
                self.results.accept_batch(&batch);
            }
            match self.results.recv_batch(&mut self.messages, BATCH_COUNT, Duration::ZERO) {
                Ok(batch) => self.sort(batch),
                Err(RecvError::TimedOut | RecvError::Ended) => {
                    self.hear();
                    if self.ready.is_empty() {
                        if self.ended.is_some() {
                            return Ok(None);
                        }
                        self.wait()?;
                    }
                }
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

    fn say(&self, message: ControlMessage) {
        let bytes = message.encode();
        // It waits for a ventilator that has not come yet; one that takes nothing has stopped anyway.
        let _ = self.control.try_send(Outgoing::Body(&bytes));
        self.control.flush();
    }

    /// Tells new results from those that came before.
    fn sort(&mut self, batch: Batch) {
        let mut messages = std::mem::take(&mut self.messages);
        let mut rest = messages.drain(..);
        for &(run, count) in &batch.runs {
            let (seen, ready, keep_order) = self.source(run.id.epoch);
            let results = rest.by_ref().take(count as usize);
            seen.take(run, count, results, keep_order, &mut |done| ready.push_back(done));
        }
        drop(rest);
        self.messages = messages;
        if !self.keep_order {
            self.batch = Some(batch);
        }
    }

    /// What is known of a source, where its results go, and whether in order.
    fn source(&mut self, epoch: u64) -> (&mut Seen<Message>, &mut VecDeque<Ready<Message>>, bool) {
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
        (&mut self.sources[at].1, &mut self.ready, self.keep_order)
    }

    /// What the ventilator has to say.
    fn hear(&mut self) {
        while let Ok(message) = self.control.try_recv() {
            self.last_seen = Instant::now();
            match ControlMessage::decode(message.body()) {
                Some(ControlMessage::Floor(floor)) => {
                    let (seen, ready, _) = self.source(floor.epoch);
                    seen.raise_floor(floor.sequence, &mut |done| ready.push_back(done));
                }
                Some(ControlMessage::End { epoch, count, rejected }) => {
                    let (seen, ready, _) = self.source(epoch);
                    seen.raise_floor(count, &mut |done| ready.push_back(done));
                    self.ended = Some((epoch, count, rejected));
                }
                _ => {}
            }
        }
    }

    fn wait(&mut self) -> Result<(), SinkError> {
        self.poller.wait_timeout(&mut Vec::new(), LOOK_INTERVAL)?;
        let is_there = !self.control.peers().is_empty();
        if is_there && !std::mem::replace(&mut self.is_greeted, true) {
            self.say(ControlMessage::Hello);
        }
        self.is_greeted &= is_there;
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
