//! `ResultWriter`: writes the results of the sink to standard output.
//!
//! - `Failures`: reports each failed record once: records that workers refuse, and records that killed too many workers.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hairstreak::pipeline::{DeadLetter, DeadLetterSink, Done, RefusalCause, Sink, SinkError};
use hairstreak_process::{Counts, Framing, PatientOutput};

use super::budget::Budget;
use super::stop::Stop;
use crate::failure::Failure;
use crate::line::one_line;
use crate::output::note;

/// The largest number of results in one write.
const BATCH_COUNT: u64 = 4096;
/// The number of bytes at which a write waits for no further results.
const WRITE_SIZE: usize = 256 * 1024;

/// Results on their way to standard output.
pub struct ResultWriter<'a> {
    pub framing: Framing,
    pub counts: &'a Counts,
    pub budget: &'a Budget,
    pub stop: &'a Stop,
}

#[derive(Default)]
struct Counted {
    done: u64,
    failed: u64,
}

impl ResultWriter<'_> {
    /// Writes until the last result.
    pub fn gather(&self, mut sink: Sink) -> Result<(), SinkError> {
        let mut output = match PatientOutput::standard_output() {
            Ok(output) => output,
            Err(error) => self.stop.end(&unwritable(&error)),
        };
        let mut text = Vec::new();
        while let Some(done) = sink.recv()? {
            let mut next = Some(done);
            let mut counted = Counted::default();
            while let Some(done) = next {
                counted.done += 1;
                counted.failed += u64::from(!self.add(&done, &mut text));
                self.budget.give_back(done.task.sequence);
                if text.len() >= WRITE_SIZE || counted.done >= BATCH_COUNT {
                    break;
                }
                next = sink.try_recv()?;
            }
            self.write(&mut output, &mut text);
            self.counts.failed.fetch_add(counted.failed, Ordering::Relaxed);
            self.counts.done.fetch_add(counted.done, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Appends a result. Returns `true` unless it is a failure.
    fn add(&self, done: &Done, text: &mut Vec<u8>) -> bool {
        let Some(reason) = done.message.frame(1) else {
            self.framing.write(text, done.message.body());
            return true;
        };
        let output = done.message.frame(0).unwrap_or_default();
        let is_good = reason.is_empty();
        match self.framing {
            Framing::Lines | Framing::Null => text.extend_from_slice(output),
            Framing::Length if is_good || !output.is_empty() => self.framing.write(text, output),
            Framing::Length => {}
        }
        if !is_good {
            let reason = one_line(&String::from_utf8_lossy(reason));
            note(&format!("hairstreak: record {} failed: {reason}\n", done.task.sequence + 1));
        }
        is_good
    }

    fn write(&self, output: &mut PatientOutput, text: &mut Vec<u8>) {
        let pen = self.stop.pen();
        let written = output.write_all(text);
        drop(pen);
        text.clear();
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.stop.end(&Failure::unread()),
            Err(error) => self.stop.end(&unwritable(&error)),
            Ok(()) => {}
        }
    }
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::with_status(255, format!("cannot write to standard output: {error}"))
}

/// Reports failed records. They arrive as dead letters, and none is lost.
pub struct Failures {
    pub letters: DeadLetterSink,
    pub budget: Arc<Budget>,
}

impl Failures {
    /// Reports failures until the program ends.
    pub fn report(mut self) {
        // A record counts as reported when the next record is requested.
        while let Ok(letter) = self.letters.recv() {
            self.budget.give_back(letter.task.sequence);
            note(&line(&letter));
        }
    }
}

fn line(letter: &DeadLetter) -> String {
    let reason = match &letter.cause {
        RefusalCause::DeliveriesMax => format!("{} workers went with it", letter.deliveries),
        RefusalCause::Deadline => "it was not done in its time".into(),
        RefusalCause::Rejected(reason) => one_line(&String::from_utf8_lossy(reason)),
    };
    format!("hairstreak: record {} failed: {reason}\n", letter.task.sequence + 1)
}
