//! `DeadLetterSink`: takes the tasks that were refused, with the reason.

use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{Delivery, LetterNote, RefusalCause, TaskId};
use hairstreak_socket::{Context, Endpoint, Message, Pull, RecvError};

use super::error::PipelineError;
use super::options::PipelineOptions;

/// A task that was refused. One that was given up, after too many deliveries or for want of time, may be done all the same: its
/// result may have been delivered, or may come. Only the sink of the results knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// What names it: it may come again, with the same name.
    pub task: TaskId,
    /// What was to be done.
    pub message: Message,
    /// How often it was given to a worker.
    pub deliveries: u16,
    /// Why it was refused.
    pub cause: RefusalCause,
}

impl DeadLetter {
    /// A message whose last frame is a note.
    fn of(message: &Message) -> Option<DeadLetter> {
        let (note, frames) = message.as_frames().split_last()?;
        let LetterNote { task, deliveries, cause } = LetterNote::decode(note.as_bytes())?;
        Some(DeadLetter { task, message: frames.iter().cloned().collect(), deliveries, cause })
    }
}

/// Takes the tasks that ventilators had to give up, or that workers rejected: see [`PipelineOptions::dead_letters`]. Any number of
/// ventilators may send there; each keeps what it sends until it is taken. A letter is taken when the next is asked for:
/// if the sink dies before, it comes again to the next one.
///
/// ```no_run
/// # use hairstreak::pipeline::{DeadLetterSink, PipelineOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut dead_letters = DeadLetterSink::bind("tcp://*:5559", &PipelineOptions::default())?;
/// loop {
///     let letter = dead_letters.recv()?;
///     eprintln!("{:?} after {} deliveries: {:?}", letter.task, letter.deliveries, letter.cause);
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct DeadLetterSink {
    letters: Pull,
    endpoint: Endpoint,
    /// What was returned last.
    returned: Option<Delivery>,
}

impl DeadLetterSink {
    /// Listens for ventilators.
    pub fn bind(place: &str, options: &PipelineOptions) -> Result<DeadLetterSink, PipelineError> {
        let letters = Pull::with_options(&Context::new(), options.letters_in())?;
        let endpoint = letters.bind(place)?;
        Ok(DeadLetterSink { letters, endpoint, returned: None })
    }

    /// Where ventilators connect.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The next letter, waiting for it. Asking for it says that the one before has been dealt with: stored, if it is to be
    /// there after the death of this process. Messages that are no dead letters are rejected.
    pub fn recv(&mut self) -> Result<DeadLetter, RecvError> {
        self.recv_timeout(Duration::MAX)
    }

    /// As [`DeadLetterSink::recv`], without waiting: [`RecvError::TimedOut`] when no letter is here.
    pub fn try_recv(&mut self) -> Result<DeadLetter, RecvError> {
        self.recv_timeout(Duration::ZERO)
    }

    /// As [`DeadLetterSink::recv`], waiting at most `timeout`.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<DeadLetter, RecvError> {
        if let Some(taken) = self.returned.take() {
            // If its connection is over, it comes again.
            self.letters.accept(&taken);
        }
        let deadline = Instant::now().checked_add(timeout);
        let left = || deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(Instant::now()));
        loop {
            let delivery = self.letters.recv_delivery(left())?;
            match DeadLetter::of(&delivery.message) {
                Some(letter) => {
                    self.returned = Some(delivery);
                    return Ok(letter);
                }
                None => drop(self.letters.reject(&delivery, "it is no dead letter")),
            }
        }
    }
}
