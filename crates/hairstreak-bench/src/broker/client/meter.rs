//! Processor time and context switches of a client from the moment that the client is ready.

use std::io;
use std::sync::mpsc;

use super::super::histogram::Histogram;
use super::super::task::{Answer, Measurement};
use super::clock::now_ns;
use super::error::ClientError;
use crate::usage::Usage;

/// Clock and consumption at the beginning.
#[derive(Debug)]
pub struct Meter {
    begin_ns: u64,
    usage: Usage,
}

impl Meter {
    /// Begins now.
    pub fn start() -> Result<Self, io::Error> {
        Ok(Self { usage: Usage::now()?, begin_ns: now_ns() })
    }

    /// Everything is done: says so, and waits for the order to finish, because others may need the connections.
    pub fn end(
        self,
        message_count: u64,
        end_ns: u64,
        histogram: &Histogram,
        orders: &mpsc::Receiver<()>,
    ) -> Result<(), ClientError> {
        let usage = Usage::now()?.since(&self.usage);
        let (begin_ns, latency) = (self.begin_ns, histogram.latency());
        Answer::Measured(Measurement { message_count, begin_ns, end_ns, usage, latency }).print()?;
        // The thread that passes orders on ends after the first one.
        let _ = orders.recv();
        Ok(())
    }
}
