//! `Feed`: standard input, record by record, to the ventilator.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hairstreak::pipeline::{Finished, RefusalCause, Ventilator};
use hairstreak_socket::SendError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use thiserror::Error;

use super::budget::Budget;
use super::counts::Counts;
use super::framing::{SplitError, Splitter};
use crate::line::one_line;
use crate::output::note;

/// How often refusals are looked for while nothing else can be done.
const REFUSALS_INTERVAL: Duration = Duration::from_millis(100);

/// Why there are no more records.
#[derive(Debug, Error)]
pub enum FeedError {
    #[error("cannot read standard input: {0}")]
    Read(#[from] io::Error),
    #[error("record {number} cannot be taken: {error}")]
    Record { number: u64, error: SplitError },
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Standard input, record by record.
pub struct Feed<'a> {
    pub ventilator: &'a Ventilator,
    pub splitter: Splitter,
    pub counts: &'a Counts,
    pub budget: &'a Budget,
}

impl Feed<'_> {
    /// Until the input ends.
    pub fn feed(&mut self) -> Result<(), FeedError> {
        let stdin = io::stdin();
        loop {
            let count = match rustix::io::read(&stdin, &mut *self.splitter.room()) {
                Ok(0) => break,
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    // Somebody else has it not block: that is no end.
                    let _ = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None);
                    continue;
                }
                Err(error) => return Err(io::Error::from(error).into()),
            };
            self.splitter.filled(count);
            self.counts.bytes.fetch_add(count as u64, Ordering::Relaxed);
            while let Some(record) = self.splitter.next().map_err(|error| self.wrong(error))? {
                self.send(&record)?;
            }
            self.report_refusals();
        }
        if let Some(record) = self.splitter.last().map_err(|error| self.wrong(error))? {
            self.send(&record)?;
        }
        Ok(())
    }

    fn send(&self, record: &std::ops::Range<usize>) -> Result<(), FeedError> {
        let number = self.counts.records.load(Ordering::Relaxed);
        while !self.budget.take(number, record.len(), REFUSALS_INTERVAL) {
            // What it waits for may have failed.
            self.report_refusals();
        }
        self.ventilator.send(self.splitter.bytes(record))?;
        self.counts.records.store(number + 1, Ordering::Relaxed);
        Ok(())
    }

    fn wrong(&self, error: SplitError) -> FeedError {
        FeedError::Record { number: self.counts.records.load(Ordering::Relaxed) + 1, error }
    }

    /// Waits until all records have their results.
    pub fn finish(&self) -> Finished {
        loop {
            let finished = self.ventilator.finish(REFUSALS_INTERVAL);
            self.report_refusals();
            if let Ok(finished) = finished {
                return finished;
            }
        }
    }

    /// Records that were given to too many workers who died.
    fn report_refusals(&self) {
        for refusal in self.ventilator.take_refusals() {
            let number = refusal.task.sequence + 1;
            self.budget.give_back(refusal.task.sequence);
            let reason = match refusal.cause {
                RefusalCause::DeliveriesMax => format!("{} workers went with it", refusal.deliveries),
                RefusalCause::Deadline => "it was not done in its time".into(),
                RefusalCause::Rejected(reason) => one_line(&String::from_utf8_lossy(&reason)),
            };
            note(&format!("hairstreak: record {number} failed: {reason}\n"));
        }
    }
}
