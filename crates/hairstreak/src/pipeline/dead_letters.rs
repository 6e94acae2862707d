//! `DeadLetterSink`: takes refused tasks, with the reasons.

use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{Delivery, LetterNote, RefusalCause, TaskId};
use hairstreak_socket::{Context, Endpoint, Message, Pull, RecvError};

use super::error::PipelineError;
use super::options::PipelineOptions;

/// A refused task. A task that was given up, after too many deliveries or for lack of time, may be done all the same:
/// its result may have been delivered, or may still come. Only the sink of the results knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The name of the task. A letter may come again, with the same name.
    pub task: TaskId,
    /// The message of the task.
    pub message: Message,
    /// Number of times that the task was given to a worker.
    pub deliveries: u16,
    /// The reason of the refusal.
    pub cause: RefusalCause,
}

impl DeadLetter {
    /// Decodes a message whose last frame is a note.
    fn of(message: &Message) -> Option<DeadLetter> {
        let (note, frames) = message.as_frames().split_last()?;
        let LetterNote { task, deliveries, cause } = LetterNote::decode(note.as_bytes())?;
        Some(DeadLetter { task, message: frames.iter().cloned().collect(), deliveries, cause })
    }
}

/// Takes the tasks that ventilators gave up or that workers rejected: see [`PipelineOptions::dead_letters`]. Any number
/// of ventilators may send letters to it. Each ventilator keeps a letter until it is taken. A letter is taken when the
/// application asks for the next. If the sink dies before that, the letter comes again to the next sink.
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
    /// The letter that was returned last.
    returned: Option<Delivery>,
}

impl DeadLetterSink {
    /// Listens for ventilators.
    pub fn bind(place: &str, options: &PipelineOptions) -> Result<DeadLetterSink, PipelineError> {
        let letters = Pull::with_options(&Context::new(), options.letters_in())?;
        let endpoint = letters.bind(place)?;
        Ok(DeadLetterSink { letters, endpoint, returned: None })
    }

    /// Returns the endpoint to which ventilators connect.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Waits for the next letter and returns it. The call says that the application has dealt with the letter before:
    /// it has stored the letter, if that must survive this process. Messages that are no dead letters are rejected.
    pub fn recv(&mut self) -> Result<DeadLetter, RecvError> {
        self.recv_timeout(Duration::MAX)
    }

    /// Does the same as [`DeadLetterSink::recv`] without waiting: [`RecvError::TimedOut`] if no letter is here.
    pub fn try_recv(&mut self) -> Result<DeadLetter, RecvError> {
        self.recv_timeout(Duration::ZERO)
    }

    /// Does the same as [`DeadLetterSink::recv`], and waits at most `timeout`.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<DeadLetter, RecvError> {
        if let Some(taken) = self.returned.take() {
            // If its connection is over, the letter comes again.
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
