//! `Feed`: standard input, record by record, to the ventilator.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hairstreak::pipeline::{FinishError, Finished, Ventilator};
use hairstreak_process::{Counts, SplitError, Splitter};
use hairstreak_socket::SendError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use thiserror::Error;

use super::budget::Budget;

/// The reason for the end of the records.
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
    /// Sends records until the input ends.
    pub fn feed(&mut self) -> Result<(), FeedError> {
        let stdin = io::stdin();
        loop {
            let count = match rustix::io::read(&stdin, &mut *self.splitter.room()) {
                Ok(0) => break,
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    // Another process has set the input non-blocking. The input has not ended.
                    let _ = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None);
                    continue;
                }
                Err(error) => return Err(io::Error::from(error).into()),
            };
            self.splitter.filled(count);
            self.counts.bytes.fetch_add(count as u64, Ordering::Relaxed);
            while let Some(record) = self.splitter.next_record().map_err(|error| self.wrong(error))? {
                self.send(&record)?;
            }
        }
        if let Some(record) = self.splitter.last().map_err(|error| self.wrong(error))? {
            self.send(&record)?;
        }
        Ok(())
    }

    fn send(&self, record: &std::ops::Range<usize>) -> Result<(), FeedError> {
        let number = self.counts.records.load(Ordering::Relaxed);
        self.budget.take(number, record.len());
        self.ventilator.send(self.splitter.bytes(record))?;
        self.counts.records.store(number + 1, Ordering::Relaxed);
        Ok(())
    }

    fn wrong(&self, error: SplitError) -> FeedError {
        FeedError::Record { number: self.counts.records.load(Ordering::Relaxed) + 1, error }
    }

    /// Waits, without a time limit, until every record has a result or has been reported as failed.
    pub fn finish(&self) -> Result<Finished, FinishError> {
        self.ventilator.finish(Duration::MAX)
    }
}
