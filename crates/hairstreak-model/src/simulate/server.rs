//! `Server`: one instance, hub or end, and the phase of its current message.
//!
//! ```text
//!   Idle -> Receive -> Wait -> Work -> Lock -> SerialWait -> SerialWork -> Unlock -> Route -> Send -> Idle, or the next message
//!                                       |                                   ^          |
//!                                       +--- the stage shares nothing ------+          +- no room: waits in its step's `blocked`
//! ```

use std::collections::VecDeque;

use crate::distribution::Distribution;

/// The average cost of a message for a server, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// Work to receive and to send.
    pub(super) ends_work: f64,
    /// Waiting to receive and to send.
    pub(super) ends_wait: f64,
    /// Work to process, which varies.
    pub(super) process_work: f64,
    /// Waiting to process, which varies.
    pub(super) process_wait: f64,
    /// The share of all these times in which the server holds the shared resource of its step. This part comes last.
    pub(super) serial_share: f64,
    /// The delay at the end of a wait.
    pub(super) wake_up: f64,
    pub(super) distribution: Distribution,
}

/// The cost of one message, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) wait: u64,
    pub(super) work: u64,
    pub(super) serial_wait: u64,
    pub(super) serial_work: u64,
}

impl Times {
    /// The cost of a message whose processing takes `factor` times the average.
    pub(super) fn parts(&self, factor: f64) -> Parts {
        let work = self.ends_work + factor * self.process_work;
        let wait = self.ends_wait + factor * self.process_wait;
        let (serial_wait, serial_work) = (wait * self.serial_share, work * self.serial_share);
        let late = if wait > 0.0 { self.wake_up } else { 0.0 };
        Parts {
            wait: (wait - serial_wait + late).round() as u64,
            work: (work - serial_work).round() as u64,
            serial_wait: serial_wait.round() as u64,
            serial_work: serial_work.round() as u64,
        }
    }
}

/// The next step of a server with its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Receive,
    Wait,
    Work,
    Lock,
    SerialWait,
    SerialWork,
    Unlock,
    Route,
    Send,
}

pub(super) struct Server {
    pub(super) step: usize,
    pub(super) queue: VecDeque<u64>,
    /// Messages on their way to the server.
    pub(super) coming: u64,
    pub(super) message: u64,
    pub(super) phase: Phase,
    pub(super) parts: Parts,
    /// `true` if the message woke the server.
    pub(super) was_idle: bool,
    /// The server that the message goes to.
    pub(super) target: usize,
    /// The next receiver in turn, if each sender has its own turn.
    pub(super) turn: usize,
    /// Work in addition to the messages, which the server still has to do, in nanoseconds.
    pub(super) debt: u64,
    /// The index of the first link to the next step, and the indexes of the links that gather.
    pub(super) first_link: usize,
    pub(super) gathering: Vec<usize>,
    /// The start of the current busy time, and the start of the current wait for room.
    pub(super) busy_since: u64,
    pub(super) blocked_since: Option<u64>,
    pub(super) busy_ns: u64,
    pub(super) blocked_ns: u64,
}

impl Server {
    pub(super) fn new(step: usize) -> Server {
        Server {
            step,
            queue: VecDeque::new(),
            coming: 0,
            message: 0,
            phase: Phase::Idle,
            parts: Parts::default(),
            was_idle: false,
            target: 0,
            turn: 0,
            debt: 0,
            first_link: 0,
            gathering: Vec::new(),
            busy_since: 0,
            blocked_since: None,
            busy_ns: 0,
            blocked_ns: 0,
        }
    }

    /// The number of messages that wait for the server.
    pub(super) fn waiting(&self) -> u64 {
        self.coming + self.queue.len() as u64
    }

    /// The number of messages that wait for the server, including its current one.
    pub(super) fn load(&self) -> u64 {
        self.waiting() + u64::from(self.phase != Phase::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_changes_the_processing_alone() {
        let times = Times {
            ends_work: 10.0,
            process_work: 100.0,
            process_wait: 1_000.0,
            serial_share: 0.5,
            wake_up: 7.0,
            ..Times::default()
        };
        let double = Parts { wait: 1_007, work: 105, serial_wait: 1_000, serial_work: 105 };
        assert_eq!(times.parts(2.0), double);
        let nothing = Parts { wait: 0, work: 5, serial_wait: 0, serial_work: 5 };
        assert_eq!(times.parts(0.0), nothing, "who does not wait is not late");
    }
}
