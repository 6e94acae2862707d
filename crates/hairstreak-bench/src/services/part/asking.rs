//! The client's loop, whoever's client it is: requests and replies, counted, verified and timed.

use std::time::Instant;

use super::error::PartError;
use crate::services::task::{Measurement, Mode, Task};
use crate::usage::Usage;

/// A request that a worker replies to with its number; the length is that of no other.
pub(super) const GREETING: &[u8] = b"?";

/// A client.
pub(super) trait Asks {
    /// Sends a request.
    fn ask(&mut self, body: &[u8]) -> Result<(), PartError>;

    /// Waits for the next reply.
    fn reply(&mut self) -> Result<&[u8], PartError>;
}

/// Greets workers, one after the other, until each has replied: all are there then.
pub(super) fn meet(client: &mut impl Asks, worker_count: u8) -> Result<(), PartError> {
    let mut met = vec![false; usize::from(worker_count)];
    let mut count = 0;
    while met.contains(&false) {
        client.ask(GREETING)?;
        let reply = client.reply()?;
        let &[number] = reply else { return Err(wrong(count, reply)) };
        let Some(worker) = met.get_mut(usize::from(number)) else { return Err(wrong(count, reply)) };
        *worker = true;
        count += 1;
    }
    Ok(())
}

/// Asks as the task says, `body` each time, and checks that it comes back.
pub(super) fn measure(client: &mut impl Asks, task: &Task, body: &[u8]) -> Result<Measurement, PartError> {
    let (before, start) = (Usage::now()?, Instant::now());
    for number in 0..task.request_count {
        client.ask(body)?;
        if task.mode == Mode::Sync {
            check(client.reply()?, number, body)?;
        }
    }
    if task.mode == Mode::Async {
        for number in 0..task.request_count {
            check(client.reply()?, number, body)?;
        }
    }
    Ok(Measurement { elapsed_s: start.elapsed().as_secs_f64(), usage: Usage::now()?.since(&before) })
}

fn check(reply: &[u8], number: u64, body: &[u8]) -> Result<(), PartError> {
    if reply == body { Ok(()) } else { Err(wrong(number, reply)) }
}

fn wrong(number: u64, reply: &[u8]) -> PartError {
    PartError::Reply { number, reply: reply.escape_ascii().to_string() }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::{Asks, GREETING, PartError, measure, meet};
    use crate::services::task::{Mode, Role, Scheme, Task};

    /// Replies by itself; `workers` take turns with greetings.
    struct Mirror {
        workers: VecDeque<u8>,
        asked: VecDeque<Vec<u8>>,
        asked_max: usize,
        last: Vec<u8>,
    }

    impl Mirror {
        fn of(workers: &[u8]) -> Mirror {
            let workers = workers.iter().copied().collect();
            Mirror { workers, asked: VecDeque::new(), asked_max: 0, last: Vec::new() }
        }
    }

    impl Asks for Mirror {
        fn ask(&mut self, body: &[u8]) -> Result<(), PartError> {
            self.asked.push_back(body.to_vec());
            self.asked_max = self.asked_max.max(self.asked.len());
            Ok(())
        }

        fn reply(&mut self) -> Result<&[u8], PartError> {
            self.last = self.asked.pop_front().ok_or(PartError::NoReply(0))?;
            if self.last == GREETING {
                self.last = vec![self.workers.pop_front().ok_or(PartError::NoReply(0))?];
            }
            Ok(&self.last)
        }
    }

    fn task(mode: Mode) -> Task {
        let (scheme, role) = (Scheme::Proxy, Role::All);
        Task {
            scheme,
            role,
            mode,
            request_count: 7,
            worker_count: 1,
            endpoint: String::new(),
            libzmq: String::new(),
        }
    }

    #[test]
    fn all_workers_are_met_however_often_one_of_them_replies() {
        let mut client = Mirror::of(&[1, 1, 0, 2, 0]);
        meet(&mut client, 3).unwrap();
        assert_eq!(client.workers, [0]);
        assert!(matches!(meet(&mut Mirror::of(&[3]), 3), Err(PartError::Reply { .. })));
    }

    #[test]
    fn one_waits_for_each_reply_and_the_other_for_none_before_the_last_request() {
        for (mode, asked_max) in [(Mode::Sync, 1), (Mode::Async, 7)] {
            let mut client = Mirror::of(&[]);
            measure(&mut client, &task(mode), b"body").unwrap();
            assert_eq!((client.asked_max, client.asked.len()), (asked_max, 0));
        }
    }

    #[test]
    fn another_body_than_was_sent_is_no_reply() {
        let mut client = Mirror::of(&[]);
        client.ask(b"stale").unwrap();
        let error = measure(&mut client, &task(Mode::Sync), b"body").unwrap_err();
        assert_eq!(error.to_string(), "reply 0 is \"stale\"");
    }
}
