//! `Results`: answers on their way to the sink. A send never waits: answers without room at the sink are queued here, in order.
//!
//! While the queue has answers, a pool lets no command continue. The queue is bounded by the answers of one turn of one
//! command. At the end of all work the bound is one turn of each command.

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

    /// Returns whether results are queued because the sink has no room.
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Passes on the results of consecutive tasks, one frame each. Does not block.
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

    /// Passes on the result of one task, which has several frames. Does not block.
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

    /// Sends queued results for at most `timeout`. Returns whether the queue is empty.
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

    /// Drops the queued results, which are no longer wanted.
    pub fn drop_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Flushes buffered results.
    pub fn flush(&self) {
        self.push.flush();
    }
}
