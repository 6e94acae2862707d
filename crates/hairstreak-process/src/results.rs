//! `Results`: answers on their way to the sink. A send never waits: answers without room at the sink are queued here, in order.
//!
//! While the queue has answers, a pool lets no command go on. The queue is bounded by the answers of one turn of one command; at the
//! end of all work, by those of one turn of each command.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::TaskRun;
use hairstreak_socket::{Message, Outgoing, Push, SendError};

/// Answers on their way to the sink.
#[derive(Debug)]
pub struct Results {
    push: Push,
    waiting: VecDeque<(TaskRun, Message)>,
}

impl Results {
    /// Returns an empty queue of results for `push`.
    pub fn new(push: Push) -> Results {
        Results { push, waiting: VecDeque::new() }
    }

    /// Whether the sink has no room.
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The results of tasks that follow each other, each a frame. Does not block.
    pub fn pass_on<'a>(
        &mut self,
        first: TaskRun,
        bodies: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), SendError> {
        self.push.pass_on(first);
        for (offset, body) in bodies.enumerate() {
            if self.waiting.is_empty() && self.try_send(body.into())? {
                continue;
            }
            self.waiting.push_back((first.plus(offset as u64), Message::from(body)));
        }
        Ok(())
    }

    /// The result of one task, of several frames. Does not block.
    pub fn pass_on_frames(&mut self, task: TaskRun, frames: &[&[u8]]) -> Result<(), SendError> {
        self.push.pass_on(task);
        if self.are_waiting() || !self.try_send(Outgoing::Frames(frames))? {
            self.waiting.push_back((task, Message::from_frames(frames)));
        }
        Ok(())
    }

    fn try_send(&self, result: Outgoing<'_>) -> Result<bool, SendError> {
        match self.push.send_timeout(result, Duration::ZERO) {
            Ok(()) => Ok(true),
            Err(SendError::TimedOut) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends what waits, for `timeout` at most. Returns whether nothing waits any more.
    pub fn send_waiting(&mut self, timeout: Duration) -> Result<bool, SendError> {
        let deadline = Instant::now() + timeout;
        while let Some((task, message)) = self.waiting.front() {
            self.push.pass_on(*task);
            let left = deadline.saturating_duration_since(Instant::now());
            match self.push.send_timeout(message, left) {
                Ok(()) => drop(self.waiting.pop_front()),
                Err(SendError::TimedOut) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Nobody wants what waits.
    pub fn drop_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Writes what has gathered.
    pub fn flush(&self) {
        self.push.flush();
    }
}
