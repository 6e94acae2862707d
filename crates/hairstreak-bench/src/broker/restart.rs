//! Starts of brokers that were killed: with empty durable queues, and with persistent messages.
//!
//! Each sample has a fresh broker, which is filled, killed with SIGKILL and started again. Its files are then on the disk and not
//! in the page cache of this system. The limit is a sequential read of the same files in the same state.

use std::fmt;

use anyhow::{Context, Result, ensure};

use super::amqp::Link;
use super::client::publish;
use super::conclusion::{GOAL, TARGET, verdict};
use super::plan::{Plan, Start};
use super::server::{Restart, Running, ServerKind, ServerTask};
use super::task::{Flow, queue_name};
use crate::frame::{Row, Spread, Table, Value, short, take_turns};

/// Counts that the targets are for.
const TARGET_QUEUES: u32 = 5_000;
const TARGET_MESSAGES: u64 = 10_000_000;
/// Confirms that may be due while the queue is filled.
const CONFIRM_WINDOW: u32 = 2_000;
const BODY_SIZE: u32 = 1024;
/// A time that is never reached.
const FILL_S: f64 = 86_400.0;

/// A broker and its content.
struct Subject {
    start: Start,
    task: ServerTask,
}

impl Subject {
    fn sample(&self) -> Result<Restart> {
        let subject = || self.to_string();
        let mut server = Running::start(&self.task)?;
        self.fill(&mut Link::open(server.address)?).with_context(subject)?;
        let restart = server.restart().with_context(subject)?;
        self.check(&mut Link::open(server.address)?).with_context(subject)?;
        Ok(restart)
    }

    fn fill(&self, link: &mut Link) -> Result<()> {
        match self.start {
            Start::Queues(count) => {
                (0..count).try_for_each(|queue| link.declare_durable_queue(&queue_name(queue)))?;
            }
            Start::Messages(message_count_max) => {
                let flow = Flow {
                    body_size: BODY_SIZE,
                    queue_count: 1,
                    is_durable: true,
                    is_persistent: true,
                    producer_count: 1,
                    confirm_window: Some(CONFIRM_WINDOW),
                    duration_s: FILL_S,
                    message_count_max,
                    ..Flow::default()
                };
                let (exchange, kind) = flow.exchange();
                link.declare_exchange(exchange, kind)?;
                link.declare_durable_queue(&queue_name(0))?;
                link.bind(&queue_name(0), exchange, &flow.routing_key(0))?;
                link.select_confirms()?;
                publish(link, &flow, 0)?;
            }
        }
        Ok(())
    }

    /// Checks that everything is there again.
    fn check(&self, link: &mut Link) -> Result<()> {
        let (last, expected) = match self.start {
            Start::Queues(count) => (count - 1, 0),
            Start::Messages(count) => (0, count),
        };
        let found = u64::from(link.count_messages(&queue_name(last))?);
        ensure!(
            found == expected,
            "{found} messages are in the queue after the start, and {expected} were confirmed"
        );
        Ok(())
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
            Start::Messages(count) => write!(out, "recovery of {count} messages of 1 KiB"),
        }
    }
}

/// Measures all starts of the plan. `tasks` are the brokers, ours first.
pub fn measure(plan: &Plan, tasks: &[ServerTask], conclusion: &mut Vec<String>) -> Result<Table> {
    let subjects: Vec<Subject> = (plan.starts.iter())
        .flat_map(|&start| tasks.iter().map(move |task| Subject { start, task: task.clone() }))
        .collect();
    let all = take_turns("broker", plan.repeat_count, &subjects, Subject::sample)?;
    let mut rows = Vec::new();
    for (subject, samples) in subjects.iter().zip(&all) {
        let times = spread(samples, |sample| sample.start_s);
        let is_rival =
            |other: &Subject| other.start == subject.start && other.task.kind == ServerKind::RabbitMq;
        let rival = subjects.iter().position(is_rival);
        let rival = rival.and_then(|rival| spread(&all[rival], |sample| sample.start_s));
        let reads = spread(samples, |sample| sample.read_s);
        let of_reads = spread(samples, |sample| sample.start_s / sample.read_s);
        let bytes = samples.first().map(|sample| sample.data_bytes);
        rows.push(
            Row::default()
                .show("start", "start", Value::text(subject.start.to_string()))
                .show("contender", "whose", Value::text(subject.task.kind.text()))
                .show("n", "n", Value::count(samples.len()))
                .show("start_s", "seconds", Value::spread(times, short))
                .show("ratio", "of RabbitMQ", Value::ratio(quotient(times, rival)))
                .show("data_bytes", "files", Value::memory(bytes))
                .show("read_s", "a read of the files", Value::spread(reads, short))
                .show("start_per_read", "of a read", Value::spread(of_reads, |ratio| format!("{ratio:.1}x")))
                .show("are_cached", "files cached", Value::other(false, "no")),
        );
        if let (ServerKind::Node, Some(times)) = (subject.task.kind, times) {
            conclusion.extend(judge(subject.start, times.median));
        }
    }
    let title = "Starts after kill -9, until AMQP answers (seconds, median [min-max])";
    Ok(Table { key: "starts", title, rows, legend: "" })
}

fn spread(samples: &[Restart], of: impl Fn(&Restart) -> f64) -> Option<Spread> {
    Spread::of(samples.iter().map(of))
}

fn quotient(ours: Option<Spread>, rival: Option<Spread>) -> Option<f64> {
    Some(ours?.median / rival?.median)
}

/// Compares a time with the targets, if the content is theirs.
fn judge(start: Start, found_s: f64) -> Option<String> {
    let targets = match start {
        Start::Queues(TARGET_QUEUES) => [(TARGET, 1.0), (GOAL, 0.5)],
        Start::Messages(TARGET_MESSAGES) => [(TARGET, 10.0), (GOAL, 3.0)],
        _ => return None,
    };
    let verdicts =
        targets.map(|(level, wanted)| format!("{level} {wanted} s: {}", verdict(found_s <= wanted)));
    Some(format!("{start}: {found_s:.2} s, {}.", verdicts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::{Start, judge};

    #[test]
    fn starts_are_judged_if_they_have_the_content_of_the_targets() {
        let sentence = "start with 5000 empty queues: 0.75 s, target 1 s: reached; goal 0.5 s: missed.";
        assert_eq!(judge(Start::Queues(5_000), 0.75).as_deref(), Some(sentence));
        assert_eq!(judge(Start::Messages(100_000), 0.75), None);
    }
}
