//! `Results`: the results of a stage's instances, each once.
//!
//! A restarted instance repeats tasks that the earlier process had not settled, though their results may have come. The
//! name of a result is its task: the epoch belongs to the instance, and the sequence counts the messages that it was
//! given.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::settlement::{Batch, Ranges, TaskRun};
use hairstreak_socket::{BindError, Context, Message, OpenError, Pull, RecvError};
use thiserror::Error;

use super::error::RunError;
use super::tally::Tally;
use crate::topology::definition::Stage;
use crate::topology::stage::{plain, settled};

/// Largest number of results taken at once, and of their bytes.
const BATCH_COUNT: usize = 1024;
const BATCH_SIZE: usize = 1 << 20;
/// Interval at which a wait for results checks whether more results are wanted.
const WAIT: Duration = Duration::from_millis(50);

/// The socket that receives a stage's results.
pub(super) struct Results {
    stage: usize,
    name: String,
    pull: Pull,
    tally: Arc<Tally>,
    /// Tasks of each instance that have their result; `None` for a stage that does not settle.
    answered: Option<Vec<Ranges>>,
    /// The batch that was taken last and is not passed on.
    batch: Option<Batch>,
}

/// An error of opening the socket.
#[derive(Debug, Error)]
pub(super) enum ResultsError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl Results {
    /// Listens at `endpoint` once for each instance of the stage with this index. Returns the bound endpoints.
    pub(super) fn open(
        context: &Context,
        (index, stage): (usize, &Stage),
        endpoint: &str,
        tally: Arc<Tally>,
    ) -> Result<(Results, Vec<String>), ResultsError> {
        let settles = stage.settles();
        let pull = Pull::with_options(context, if settles { settled() } else { plain() })?;
        pull.settle_lazily(true);
        let bind = |_| pull.bind(endpoint).map(|bound| bound.to_string());
        let endpoints = (0..stage.instances).map(bind).collect::<Result<_, _>>()?;
        let answered = settles.then(|| vec![Ranges::new(); stage.instances as usize]);
        let results = Results { stage: index, name: stage.name.clone(), pull, tally, answered, batch: None };
        Ok((results, endpoints))
    }

    /// Returns the socket.
    pub(super) fn pull(&self) -> &Pull {
        &self.pull
    }

    /// Returns the stage's name.
    pub(super) fn stage_name(&self) -> &str {
        &self.name
    }

    /// Appends new results to `batch`, or nothing after some waiting.
    pub(super) fn take(&mut self, batch: &mut Vec<Message>) -> Result<(), RunError> {
        let hub = |error: RecvError| RunError::Hub(error.to_string());
        if self.answered.is_some() {
            return match self.pull.recv_batch(batch, BATCH_COUNT, WAIT) {
                Ok(received) => self.keep_new(received, batch),
                Err(RecvError::TimedOut) => Ok(()),
                Err(error) => Err(hub(error)),
            };
        }
        receive(&self.pull, batch).map_err(hub)?;
        if !batch.is_empty() {
            self.tally.processed(self.stage, batch.len() as u64);
        }
        let stage = self.tally.stage(self.stage);
        if stage.processed() > stage.given() {
            return Err(RunError::TooManyResults { stage: self.name.clone(), messages: stage.given() });
        }
        Ok(())
    }

    /// Drops results that came before.
    fn keep_new(&mut self, received: Batch, batch: &mut Vec<Message>) -> Result<(), RunError> {
        let Some(answered) = &mut self.answered else { return Ok(()) };
        let unknown = || RunError::Hub(format!("stage \"{}\" sent a result of no message", self.name));
        let mut at = 0;
        let mut is_new = Vec::new();
        for (TaskRun { id, .. }, count) in &received.runs {
            let instance = self.tally.stage(self.stage).instance_of(id.epoch);
            let instance = instance.ok_or_else(unknown)?;
            let tasks = id.sequence..id.sequence + count;
            let mut new_count = *count;
            if !answered[instance].insert(tasks.clone()) {
                is_new.resize(at, true);
                is_new.extend(tasks.map(|task| answered[instance].insert(task..task + 1)));
                new_count = is_new[at..].iter().filter(|is_new| **is_new).count() as u64;
            }
            at += *count as usize;
            let below = answered[instance].last_from(0).map_or(0, |last| last + 1);
            self.tally.answered(self.stage, instance, new_count, below);
        }
        if at != batch.len() {
            return Err(unknown());
        }
        if !is_new.is_empty() {
            is_new.resize(at, true);
            let mut is_new = is_new.into_iter();
            batch.retain(|_| is_new.next().unwrap_or(true));
        }
        self.batch = Some(received);
        Ok(())
    }

    /// Settles the batch that was taken and is passed on, so that it does not come again.
    pub(super) fn accept(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.pull.accept_batch(&batch);
        }
    }

    /// Returns whether a stage went on sending after all its results were in. A stage that settles may repeat a result.
    pub(super) fn has_surplus(&self) -> bool {
        self.answered.is_none() && self.pull.try_recv().is_ok()
    }
}

fn receive(pull: &Pull, batch: &mut Vec<Message>) -> Result<(), RecvError> {
    let mut size = 0;
    let mut received = pull.recv_timeout(WAIT);
    loop {
        match received {
            Ok(message) => {
                size += message.size();
                batch.push(message);
            }
            Err(RecvError::WouldBlock | RecvError::TimedOut) => return Ok(()),
            Err(error) => return Err(error),
        }
        if batch.len() == BATCH_COUNT || size >= BATCH_SIZE {
            return Ok(());
        }
        received = pull.try_recv();
    }
}
