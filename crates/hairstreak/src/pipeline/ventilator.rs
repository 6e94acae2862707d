//! `Ventilator`: hands out tasks, keeps each until its result is taken, and says when all are done.

use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{ControlMessage, Refusal, Unsettled};
use hairstreak_socket::{BindError, Context, Endpoint, Outgoing, Push, SendError};

use super::control::Control;
use super::error::{FinishError, PipelineError};
use super::options::PipelineOptions;

/// Hands out tasks. `Send + Sync`; fastest from the thread that opened it.
#[derive(Debug)]
pub struct Ventilator {
    tasks: Push,
    /// Sends refused tasks.
    letters: Option<Push>,
    endpoint: Endpoint,
    control: Control,
    epoch: u64,
    lost_after: Duration,
}

/// The outcome of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Tasks that were sent.
    pub count: u64,
    /// Tasks among them that were rejected by a worker or the sink, given up after too many deliveries, or not settled
    /// in their time. A task that was given up may be done all the same. It does not count if the sink reported that
    /// before [`Ventilator::take_refusals`] returned it. For others the sink may have delivered a result, too: see
    /// [`Completion::rejected_count`](super::Completion::rejected_count).
    pub rejected: u64,
    /// Rejected tasks that [`Ventilator::take_refusals`] has not returned and will not, as there were too many before
    /// it was called.
    pub unnamed: u64,
}

/// Interval at which a send that waits for room looks at the wishes of sinks.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

impl Ventilator {
    /// Listens for workers at `tasks` and for the sink at `control`.
    pub fn bind(tasks: &str, control: &str, options: &PipelineOptions) -> Result<Ventilator, PipelineError> {
        let context = Context::new();
        let push = Push::with_options(&context, options.tasks_out())?;
        let letters = match &options.dead_letters {
            Some(place) => {
                let letters = Push::with_options(&context, options.letters_out())?;
                push.pass_refusals_to(&letters);
                letters.connect(place)?;
                Some(letters)
            }
            None => None,
        };
        let endpoint = push.bind(tasks)?;
        let control = Control::bind(control, options.control(), push.clone(), &endpoint)?;
        let epoch = push.first_unsettled().map_or(0, |task| task.epoch);
        Ok(Ventilator { tasks: push, letters, endpoint, control, epoch, lost_after: options.lost_after })
    }

    /// Returns the endpoint to which workers connect.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Listens for workers at another endpoint too.
    pub fn listen(&self, tasks: &str) -> Result<Endpoint, BindError> {
        self.tasks.bind(tasks)
    }

    /// Returns the endpoint to which the sink connects.
    pub fn control_endpoint(&self) -> &Endpoint {
        &self.control.endpoint
    }

    /// Hands out a task. Waits while the window is full, no worker is there, a sink wants a pause, or
    /// [`PipelineOptions::dead_letters_max`] dead letters are not taken. Also waits while too many refused tasks are
    /// not taken ([`Ventilator::take_refusals`]). Returns [`SendError::Closed`] when a sink wants no more tasks.
    pub fn send<'a>(&self, task: impl Into<Outgoing<'a>>) -> Result<(), SendError> {
        let task = task.into();
        if !self.control.has_wish() {
            match self.tasks.send_timeout(task, LOOK_INTERVAL) {
                Err(SendError::TimedOut) => {}
                sent => return sent,
            }
        }
        self.send_by(|tasks| tasks.send_timeout(task, LOOK_INTERVAL))
    }

    /// Does the same as [`Ventilator::send`] for a task with a time limit: the task is given up if it is not settled
    /// `within` this time after it was handed over, or within [`PipelineOptions::deadline`] if that is less.
    pub fn send_within<'a>(&self, task: impl Into<Outgoing<'a>>, within: Duration) -> Result<(), SendError> {
        let task = task.into();
        self.send_by(|tasks| tasks.send_within_timeout(task, within, LOOK_INTERVAL))
    }

    /// Sends with a look at the wishes of sinks, and looks again after each wait in vain. A function of its own,
    /// because the common path does not write the task to memory.
    #[cold]
    fn send_by(&self, send: impl Fn(&Push) -> Result<(), SendError>) -> Result<(), SendError> {
        loop {
            if self.control.has_wish() && !self.control.wait_for_wish() {
                return Err(SendError::Closed);
            }
            match send(&self.tasks) {
                Err(SendError::TimedOut) => {}
                sent => return sent,
            }
        }
    }

    /// Returns the number of tasks that are sent and not settled.
    pub fn unsettled_count(&self) -> u64 {
        self.tasks.unsettled().count
    }

    /// Waits until `count` workers are connected, `timeout` at most. Returns whether they are.
    pub fn wait_for_workers(&self, count: usize, timeout: Duration) -> bool {
        self.tasks.wait_for_peers(count, timeout)
    }

    /// Returns the number of refused tasks that the dead-letter sink has not taken.
    pub fn dead_letter_count(&self) -> u64 {
        self.letters.as_ref().map_or(0, |letters| letters.unsettled().count)
    }

    /// Returns the tasks that were rejected or given up since the last call. With [`PipelineOptions::dead_letters`]
    /// there are none.
    ///
    /// A task that was given up ([`RefusalCause::Deadline`](super::RefusalCause), `DeliveriesMax`) may be done all the
    /// same. The ventilator decides by its own clock, and the sink may have delivered the result, or may be about to.
    /// Tasks that the sink has reported as done are not returned. Others may turn out to be done later: only the sink
    /// knows. If they are sent again, they are done twice.
    ///
    /// The ventilator keeps twice as many refused tasks as the window has, and at least 1,000: the whole window can be
    /// refused at one instant. While that many are not taken, [`Ventilator::send`] waits for the next call, up to ten
    /// seconds after the last. An application that calls this function within that time loses none. For an application
    /// that has never called it, or not for that time, no send waits: the oldest refused tasks are lost, and counted
    /// ([`Finished::unnamed`]). [`Ventilator::finish`] waits for no call.
    pub fn take_refusals(&self) -> Vec<Refusal> {
        self.tasks.take_refusals()
    }

    /// Waits until all tasks are done, `timeout` at most, and tells workers and sink that there are no more. If the
    /// sink is not connected then, waits for it within `timeout` and [`PipelineOptions::lost_after`]. With
    /// [`PipelineOptions::dead_letters`], then waits until all refused tasks are taken.
    pub fn finish(&self, timeout: Duration) -> Result<Finished, FinishError> {
        let deadline = Instant::now().checked_add(timeout);
        self.tasks.flush();
        let left = || deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(Instant::now()));
        if !self.tasks.end(left()) {
            return Err(FinishError::Unfinished { unsettled: self.unsettled_count() });
        }
        let count = self.tasks.stats().sent;
        let Unsettled { refused_count: rejected, lost_refusals: unnamed, .. } = self.tasks.unsettled();
        let end = ControlMessage::End { epoch: self.epoch, count, rejected };
        self.control.end(end, left().min(self.lost_after));
        if let Some(letters) = self.letters.as_ref().filter(|letters| !letters.wait_settled(left())) {
            return Err(FinishError::LettersLeft { letters: letters.unsettled().count });
        }
        Ok(Finished { count, rejected, unnamed })
    }
}
