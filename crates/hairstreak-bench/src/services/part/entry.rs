//! The parts that all members share: the requests of a client, and the threads of a member.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::super::plan::Mode;
use super::super::sample::Task;
use crate::frame::processes::report;
use crate::frame::{Measurement, Meter};

/// Runs endless work on a thread until the order to finish comes, and then measures the process.
pub(super) fn serve(
    orders: &mpsc::Receiver<()>,
    work: impl FnOnce() -> Result<Infallible> + Send + 'static,
) -> Result<()> {
    let meter = Meter::of_process();
    spawn(work);
    let _ = orders.recv();
    report(meter.end(0)?, orders)
}

/// Spawns a thread on which others wait: its failure ends the process.
pub(super) fn spawn(work: impl FnOnce() -> Result<Infallible> + Send + 'static) {
    thread::spawn(move || {
        let Err(error) = work();
        eprintln!("hairstreak-bench: {error:#}");
        std::process::exit(1)
    });
}

/// An endpoint at a free port of this machine.
pub(super) const ANY_PORT: &str = "tcp://127.0.0.1:*";
/// A request that a worker replies to with its number; the length is that of no other.
pub(super) const GREETING: &[u8] = b"?";
/// The body of a request to a service, and of its reply.
const BODY: &[u8] = b"Hello world";
/// The longest wait for a reply of a rival. A client gives up after it, for which a busy machine is no cause.
pub(super) const TIMEOUT: Duration = Duration::from_secs(40);

/// A client.
pub(super) trait Asks {
    /// Sends a request.
    fn ask(&mut self, body: &[u8]) -> Result<()>;

    /// Waits for the next reply.
    fn reply(&mut self) -> Result<&[u8]>;
}

/// Meets the workers, and measures a client of their service.
pub(super) fn ask_workers(client: &mut impl Asks, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    meet(client, task.row.worker_count)?;
    report(measure(client, task, BODY)?, orders)
}

/// Greets workers, one after the other, until each has replied: all are there then.
fn meet(client: &mut impl Asks, worker_count: u8) -> Result<()> {
    let mut met = BTreeSet::new();
    while met.len() < usize::from(worker_count) {
        client.ask(GREETING)?;
        match client.reply()? {
            &[number] if number < worker_count => _ = met.insert(number),
            reply => return Err(wrong(met.len() as u64, reply)),
        }
    }
    Ok(())
}

/// Sends the task's requests, each with `body`, and checks that it comes back.
pub(super) fn measure(client: &mut impl Asks, task: &Task, body: &[u8]) -> Result<Measurement> {
    let mut meter = Meter::default();
    meter.begin()?;
    let at_once = if task.row.mode == Mode::Sync { 1 } else { task.request_count };
    for first in (0..task.request_count).step_by(at_once as usize) {
        (0..at_once).try_for_each(|_| client.ask(body))?;
        for number in first..first + at_once {
            let reply = client.reply()?;
            if reply != body {
                return Err(wrong(number, reply));
            }
        }
    }
    meter.end(task.request_count)
}

fn wrong(number: u64, reply: &[u8]) -> anyhow::Error {
    anyhow!("reply {number} is {:?}", reply.escape_ascii().to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use anyhow::{Context as _, Result};

    use super::{Asks, GREETING, measure, meet};
    use crate::services::plan::{Mode, Row, Scheme};
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
        Task {
            scheme: Scheme::Tripping,
            role: Role::All,
            row: Row { case: Scheme::Tripping, mode, worker_count: 1 },
            request_count: 7,
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
