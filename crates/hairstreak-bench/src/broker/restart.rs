//! Starts of brokers that were killed: with empty durable queues, and with persistent messages.
//!
//! Each sample has a fresh broker, which is filled, killed with SIGKILL and started again. Its files are then on the disk and not
//! in the page cache of this system. The limit is a sequential read of the same files in the same state. Our node is killed
//! and started three times, the second time without footers, the third time without an index.

use std::fmt;
use std::rc::Rc;

use anyhow::{Context, Result};

use super::amqp::Link;
use super::backlog::Backlog;
use super::conclusion::verdicts;
use super::plan::{Plan, Start};
use super::server::{Loss, Restart, Running, ServerKind, ServerTask};
use super::task::queue_name;
use crate::frame::disk::{DiskProbe, DiskSpeed};
use crate::frame::{Row, Spread, Table, Value, short, take_turns};

/// Counts that the targets are for.
const TARGET_QUEUES: u32 = 5_000;
const TARGET_MESSAGES: u64 = 10_000_000;

/// A broker and its content.
struct Subject {
    start: Start,
    task: ServerTask,
    probe: Rc<DiskProbe>,
}

impl Subject {
    /// What is lost before each start.
    fn losses(&self) -> &'static [Loss] {
        match (self.start, self.task.kind) {
            (Start::Messages(_), ServerKind::Node) => &[Loss::Nothing, Loss::Footers, Loss::Index],
            _ => &[Loss::Nothing],
        }
    }

    fn sample(&self) -> Result<(DiskSpeed, Vec<Restart>)> {
        let speed = self.probe.measure()?;
        Ok((speed, self.restarts().with_context(|| self.to_string())?))
    }

    fn restarts(&self) -> Result<Vec<Restart>> {
        let mut server = Running::start(&self.task)?;
        self.fill(&server)?;
        let restart = |loss: &Loss| {
            let restart = server.restart(*loss)?;
            self.check(&server)?;
            Ok(restart)
        };
        self.losses().iter().map(restart).collect()
    }

    fn fill(&self, server: &Running) -> Result<()> {
        match self.start {
            Start::Queues(count) => {
                let mut link = Link::open(server.address)?;
                Ok((0..count).try_for_each(|queue| link.declare_durable_queue(&queue_name(queue)))?)
            }
            Start::Messages(backlog) => backlog.fill(server).map(drop),
        }
    }

    /// Checks that everything is there again.
    fn check(&self, server: &Running) -> Result<()> {
        match self.start {
            Start::Queues(queue_count) => Backlog { message_count: 0, queue_count }.check(server, 0),
            Start::Messages(backlog) => backlog.check(server, backlog.message_count),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", self.start, self.task.kind.text())
    }
}

impl fmt::Display for Start {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Start::Queues(count) => write!(out, "start with {count} empty queues"),
            Start::Messages(backlog) => {
                write!(out, "recovery of {} messages of 1 KiB", backlog.message_count)
            }
        }
    }
}

/// Measures all starts of the plan. `tasks` are the brokers, ours first.
pub fn measure(
    plan: &Plan,
    tasks: &[ServerTask],
    probe: &Rc<DiskProbe>,
    conclusion: &mut Vec<String>,
) -> Result<Table> {
    let of_tasks = |&start| {
        let subject = move |task: &ServerTask| Subject { start, task: task.clone(), probe: Rc::clone(probe) };
        tasks.iter().map(subject)
    };
    let subjects: Vec<Subject> = plan.starts.iter().flat_map(of_tasks).collect();
    let all = take_turns("broker", plan.repeat_count, &subjects, Subject::sample)?;
    let mut rows = Vec::new();
    for (subject, samples) in subjects.iter().zip(&all) {
        for (index, loss) in subject.losses().iter().enumerate() {
            let restarts: Vec<Restart> = samples.iter().map(|(_, restarts)| restarts[index]).collect();
            let spread = |of: fn(&Restart) -> f64| Spread::of(restarts.iter().map(of));
            let of_rival = |(other, samples): (&Subject, &Vec<(DiskSpeed, Vec<Restart>)>)| {
                let is_it = other.start == subject.start && other.task.kind == ServerKind::RabbitMq;
                is_it.then(|| Spread::of(samples.iter().map(|(_, restarts)| restarts[0].start_s)))?
            };
            let rival = subjects.iter().zip(&all).find_map(of_rival);
            let times = spread(|restart| restart.start_s);
            let of_reads = spread(|restart| restart.start_s / restart.read_s);
            let name = format!("{}{}", subject.start, loss.text());
            if let (ServerKind::Node, Some(times), Some(of_reads)) = (subject.task.kind, times, of_reads) {
                conclusion.extend(judge(subject.start, *loss, &name, times.median, of_reads.median));
            }
            let quotient = |rival: Spread| Some(times?.median / rival.median);
            let row = Row::default()
                .show("start", "start", Value::text(name))
                .show("contender", "whose", Value::text(subject.task.kind.text()))
                .show("n", "n", Value::count(restarts.len()))
                .show("start_s", "seconds", Value::spread(times, short))
                .show("ratio", "of RabbitMQ", Value::ratio(rival.and_then(quotient)))
                .show("data_bytes", "files", Value::memory(restarts.first().map(|first| first.data_bytes)))
                .keep("lost_files", Value::other(restarts.first().map(|first| first.lost_count), ""))
                .show("read_s", "a read", Value::spread(spread(|restart| restart.read_s), short))
                .show("start_per_read", "of a read", Value::spread(of_reads, |ratio| format!("{ratio:.1}x")));
            let speeds: Vec<DiskSpeed> = samples.iter().map(|(speed, _)| *speed).collect();
            rows.push(DiskSpeed::show(&speeds, row, false));
        }
    }
    let title = "Starts after kill -9, until AMQP answers (seconds, median [min-max])";
    let legend = "A read: a sequential read of all files of the broker. Footers: offsets of messages in sealed segments. Checkpoints: the index.";
    Ok(Table { key: "starts", title, rows, legend })
}

/// Compares a time with the targets, if the content is theirs.
fn judge(start: Start, loss: Loss, name: &str, found_s: f64, of_reads: f64) -> Option<String> {
    let (found, unit, targets) = match (start, loss) {
        (Start::Queues(TARGET_QUEUES), _) => (found_s, " s", [1.0, 0.5]),
        (Start::Messages(Backlog { message_count: TARGET_MESSAGES, .. }), Loss::Nothing) => {
            (found_s, " s", [10.0, 3.0])
        }
        (Start::Messages(Backlog { message_count: TARGET_MESSAGES, .. }), _) => {
            (of_reads, "x a read", [1.5, 1.2])
        }
        _ => return None,
    };
    let verdicts = verdicts(targets, unit, |wanted| found <= wanted);
    Some(format!("{name}: {found:.2}{unit}, {verdicts}."))
}

#[cfg(test)]
mod tests {
    use super::{Backlog, Loss, Start, judge};

    #[test]
    fn starts_are_judged_if_they_have_the_content_of_the_targets() {
        let check = |start, loss, expected: Option<&str>| {
            assert_eq!(judge(start, loss, "it", 0.75, 1.3).as_deref(), expected);
        };
        let queues = "it: 0.75 s, target 1 s: reached; goal 0.5 s: missed.";
        check(Start::Queues(5_000), Loss::Nothing, Some(queues));
        let messages = |message_count| Start::Messages(Backlog { message_count, queue_count: 1 });
        let whole = "it: 0.75 s, target 10 s: reached; goal 3 s: reached.";
        check(messages(10_000_000), Loss::Nothing, Some(whole));
        let scanned = "it: 1.30x a read, target 1.5x a read: reached; goal 1.2x a read: missed.";
        check(messages(10_000_000), Loss::Index, Some(scanned));
        check(messages(100_000), Loss::Nothing, None);
    }
}
