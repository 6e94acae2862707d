//! The parts that all members share: the requests of a client, and the end of a member.

use std::convert::Infallible;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};

use super::super::plan::Mode;
use super::super::sample::{Measurement, Task};
use crate::frame::processes::Answer;
use crate::frame::usage::Usage;

/// Prints the measurement, waits for the order to finish, and exits: the threads of this process do not end by themselves.
pub(super) fn end(measurement: Measurement, orders: &mpsc::Receiver<()>) -> Result<()> {
    Answer::Measured(measurement).print()?;
    // The thread that passes orders on ends after the first one.
    let _ = orders.recv();
    std::process::exit(0)
}

/// Runs endless work on a thread until the order to finish comes, and then measures the process.
pub(super) fn serve(
    orders: &mpsc::Receiver<()>,
    work: impl FnOnce() -> Result<Infallible> + Send + 'static,
) -> Result<()> {
    let start = Instant::now();
    spawn(work);
    let _ = orders.recv();
    let measurement = Measurement { elapsed_s: start.elapsed().as_secs_f64(), usage: Usage::now()? };
    Answer::Measured(measurement).print()?;
    std::process::exit(0)
}

/// Spawns a thread on which others wait: its failure ends the process.
pub(super) fn spawn(work: impl FnOnce() -> Result<Infallible> + Send + 'static) {
    thread::spawn(move || {
        let Err(error) = work();
        eprintln!("hairstreak-bench: {error:#}");
        std::process::exit(1)
    });
}

/// A request that a worker replies to with its number; the length is that of no other.
pub(super) const GREETING: &[u8] = b"?";

/// A client.
pub(super) trait Asks {
    /// Sends a request.
    fn ask(&mut self, body: &[u8]) -> Result<()>;

    /// Waits for the next reply.
    fn reply(&mut self) -> Result<&[u8]>;
}

/// Greets workers, one after the other, until each has replied: all are there then.
pub(super) fn meet(client: &mut impl Asks, worker_count: u8) -> Result<()> {
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

/// Sends the task's requests, each with `body`, and checks that it comes back.
pub(super) fn measure(client: &mut impl Asks, task: &Task, body: &[u8]) -> Result<Measurement> {
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

fn check(reply: &[u8], number: u64, body: &[u8]) -> Result<()> {
    if reply == body { Ok(()) } else { Err(wrong(number, reply)) }
}

fn wrong(number: u64, reply: &[u8]) -> anyhow::Error {
    anyhow!("reply {number} is {:?}", reply.escape_ascii().to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use anyhow::{Context as _, Result};

    use super::{Asks, GREETING, measure, meet};
    use crate::services::plan::{Mode, Scheme};
    use crate::services::sample::{Role, Task};

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
        fn ask(&mut self, body: &[u8]) -> Result<()> {
            self.asked.push_back(body.to_vec());
            self.asked_max = self.asked_max.max(self.asked.len());
            Ok(())
        }

        fn reply(&mut self) -> Result<&[u8]> {
            self.last = self.asked.pop_front().context("no reply")?;
            if self.last == GREETING {
                self.last = vec![self.workers.pop_front().context("no reply")?];
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
        let error = meet(&mut Mirror::of(&[3]), 3).unwrap_err();
        assert!(error.to_string().starts_with("reply 0 is "), "{error}");
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
