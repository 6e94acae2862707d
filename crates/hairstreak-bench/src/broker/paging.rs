//! Backlogs that are larger than the memory of a broker: in, kill -9 and start, out again.
//!
//! Each sample has a fresh broker. Between the two phases its files leave the page cache of this system, so that consumers get
//! what the disk has. Memory is the peak of the broker's resident memory (`VmHWM`), which has no part of the page cache.
//! A broker that stalls has a row of the phases before, and the run reports the reason and fails at its end.

use std::env;
use std::fmt;
use std::rc::Rc;

use anyhow::{Context, Result};

use super::backlog::Backlog;
use super::conclusion::verdicts;
use super::plan::Plan;
use super::server::{Loss, Restart, Running, ServerKind, ServerTask};
use crate::frame::disk::{DiskProbe, DiskSpeed, new_file_rate};
use crate::frame::{Row, Spread, Table, Value, rate, short, take_turns};

const MIB: f64 = 1_048_576.0;
/// Bounds of the watermark of our node; three quarters of the bodies in between.
const WATERMARK_MIN: u64 = 8 << 20;
const WATERMARK_MAX: u64 = 256 << 20;
/// Bytes of the largest file whose writing is compared with publishing.
const WRITTEN_MAX: u64 = 1 << 30;
/// The number of messages that the targets are for.
const TARGET_MESSAGES: u64 = 10_000_000;

type Format = fn(f64) -> String;

/// The figures of a sample, in the order of its phases: keys, headings, and texts for people.
const FIGURES: [(&str, &str, Format); 8] = [
    ("in_per_s", "in/s", rate),
    ("in_percent", "of writing", percent),
    ("in_memory_mib", "memory", mib),
    ("start_s", "start s", short),
    ("start_memory_mib", "memory", mib),
    ("out_per_s", "out/s", rate),
    ("out_percent", "of reading", percent),
    ("out_memory_mib", "memory", mib),
];
const MEMORY: [usize; 3] = [2, 4, 7];
const PERCENT_IN: usize = 1;
const PERCENT_OUT: usize = 6;

fn percent(figure: f64) -> String {
    format!("{figure:.0}%")
}

fn mib(figure: f64) -> String {
    format!("{figure:.0} MiB")
}

/// A backlog in a broker.
struct Subject {
    backlog: Backlog,
    task: ServerTask,
    probe: Rc<DiskProbe>,
}

/// A sample: the figures of the phases that ended, and the reason if a phase failed.
struct Sample {
    speed: DiskSpeed,
    figures: Vec<f64>,
    failure: Option<String>,
}

impl Subject {
    fn sample(&self) -> Result<Sample> {
        let (speed, mut figures) = (self.probe.measure()?, Vec::new());
        let failure = self.measure(&mut figures).err().map(|error| format!("{self}: {error:#}"));
        Ok(Sample { speed, figures, failure })
    }

    fn measure(&self, figures: &mut Vec<f64>) -> Result<()> {
        let Subject { backlog, task, .. } = self;
        let mut server = Running::start(task)?;
        let peak = |server: &Running| anyhow::Ok(server.memory("VmHWM")?.unwrap_or_default() as f64 / MIB);
        let (count, size) = (backlog.message_count as f64, backlog.bytes() as f64 / MIB);

        let in_s = backlog.fill(&server).context("publishing")?;
        let written = backlog.bytes().min(WRITTEN_MAX) as usize;
        let writing = new_file_rate(&env::temp_dir(), written).context("a file to compare with")?;
        figures.extend([count / in_s, 100.0 * size / in_s / writing, peak(&server)?]);

        let Restart { start_s, data_bytes, read_s, .. } = server.restart(Loss::Nothing)?;
        figures.extend([start_s, peak(&server)?]);
        backlog.check(&server, backlog.message_count).context("after the start")?;

        let out_s = backlog.drain(&server).context("consuming")?;
        let reading = data_bytes as f64 / MIB / read_s;
        figures.extend([count / out_s, 100.0 * size / out_s / reading, peak(&server)?]);
        Ok(())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "paging of {}, {}", self.backlog, self.task.kind.text())
    }
}

/// Measures all backlogs of the plan. `tasks` are the brokers.
pub fn measure(
    plan: &Plan,
    tasks: &[ServerTask],
    probe: &Rc<DiskProbe>,
    conclusion: &mut Vec<String>,
    failures: &mut Vec<String>,
) -> Result<Table> {
    let mut subjects = Vec::new();
    for (&backlog, task) in
        plan.backlogs.iter().flat_map(|backlog| tasks.iter().map(move |task| (backlog, task)))
    {
        let watermark = (backlog.bytes() * 3 / 4).clamp(WATERMARK_MIN, WATERMARK_MAX);
        let memory_bytes = (task.kind == ServerKind::Node).then_some(watermark);
        subjects.push(Subject {
            backlog,
            task: ServerTask { memory_bytes, ..task.clone() },
            probe: Rc::clone(probe),
        });
    }
    let all = take_turns("broker", plan.repeat_count, &subjects, Subject::sample)?;
    let mut rows = Vec::new();
    for (subject, samples) in subjects.iter().zip(all) {
        let Subject { backlog, task, .. } = subject;
        let figure =
            |index| Spread::of(samples.iter().filter_map(|sample| sample.figures.get(index).copied()));
        let row = Row::default()
            .show("queues", "queues", Value::count(backlog.queue_count))
            .show("messages", "messages", Value::count(backlog.message_count))
            .show("contender", "whose", Value::text(task.kind.text()))
            .show("n", "n", Value::count(samples.len()))
            .show("watermark_bytes", "watermark", Value::memory(task.memory_bytes));
        let row = FIGURES.iter().enumerate().fold(row, |row, (index, (key, heading, text))| {
            row.show(key, heading, Value::spread(figure(index), text))
        });
        let speeds: Vec<DiskSpeed> = samples.iter().map(|sample| sample.speed).collect();
        rows.push(DiskSpeed::show(&speeds, row, false));
        if task.kind == ServerKind::Node {
            conclusion.extend(judge(*backlog, figure));
        }
        failures.extend(samples.into_iter().filter_map(|sample| sample.failure));
    }
    let title = "1 KiB in, kill -9 and start, and out again, with little memory (median [min-max])";
    let legend = "Writing: of a new file. Reading: of the broker's files. Memory: the peak of the process so far, without the page cache.";
    Ok(Table { key: "paging", title, rows, legend })
}

/// Compares the figures of our node with the targets, if the backlog is theirs.
fn judge(backlog: Backlog, figure: impl Fn(usize) -> Option<Spread>) -> Option<String> {
    // A sample that failed lacks its last figures.
    let peaks: Vec<f64> = MEMORY.iter().map(|&index| Some(figure(index)?.max)).collect::<Option<_>>()?;
    let memory = peaks.into_iter().fold(0.0, f64::max);
    let of_memory = verdicts([512.0, 256.0], " MiB", |wanted| memory <= wanted);
    let mut parts = vec![format!("{} of memory, {of_memory}", mib(memory))];
    let of_disk = [(PERCENT_IN, "writing", [60.0, 80.0]), (PERCENT_OUT, "reading", [50.0, 70.0])];
    for (index, name, wanted) in of_disk.into_iter().filter(|_| backlog.queue_count == 1) {
        let found = figure(index)?.median;
        parts.push(format!("{found:.0}% of {name}, {}", verdicts(wanted, "%", |wanted| found >= wanted)));
    }
    let has_target = backlog.message_count == TARGET_MESSAGES;
    has_target.then(|| format!("paging of {backlog}: {}.", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::{Backlog, Spread, judge};

    #[test]
    fn backlogs_are_judged_if_they_are_those_of_the_targets() {
        let check = |figures: &[f64], message_count, queue_count, expected: Option<&str>| {
            let backlog = Backlog { message_count, queue_count };
            let judged = judge(backlog, |index| Spread::of(figures.get(index).copied()));
            assert_eq!(judged.as_deref(), expected);
        };
        let memory = "300 MiB of memory, target 512 MiB: reached; goal 256 MiB: missed";
        let disk = "70% of writing, target 60%: reached; goal 80%: missed; \
                    45% of reading, target 50%: missed; goal 70%: missed";
        let one = format!("paging of 10000000 messages of 1 KiB in 1 queue: {memory}; {disk}.");
        let figures = [1e6, 70.0, 200.0, 1.0, 300.0, 1e6, 45.0, 250.0];
        check(&figures, 10_000_000, 1, Some(&one));
        let many = format!("paging of 10000000 messages of 1 KiB in 1000 queues: {memory}.");
        check(&figures, 10_000_000, 1000, Some(&many));
        check(&figures, 300_000, 1, None);
        check(&figures[..5], 10_000_000, 1, None);
    }
}
