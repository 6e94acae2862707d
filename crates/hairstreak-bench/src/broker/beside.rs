//! Consumers of a short queue beside a publisher that fills a long one: where the long queue goes to disk, and where it is in memory.
//!
//! Queues and clients are the same in both cases; only the watermark differs. The publisher keeps to a rate. The messages of both
//! queues are transient, so that all writes are pages. The client of the short queue consumes 500 messages before it publishes the
//! next 500: the queue stays short, also where its consumer is slow.

use std::fmt;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use super::amqp::Link;
use super::backlog::BODY_SIZE;
use super::client::publish;
use super::conclusion::verdict;
use super::plan::{CaseName, Plan, Scenario};
use super::sample::Subject as Stream;
use super::server::{Running, SEGMENT, ServerTask};
use super::task::Flow;
use super::timing::now_ns;
use crate::frame::disk::files_below;
use crate::frame::{Row, Spread, Table, Value, rate, take_turns};

/// Watermark of the node whose long queue goes to disk.
const WATERMARK: u64 = 64 << 20;
/// Messages that are in the long queue at first, twice the watermark.
const FILL_COUNT: u64 = 131_072;
const FILL_WINDOW: u32 = 1_000;
const FILL_S: f64 = 60.0;
/// Messages a second that the publisher adds meanwhile, from so long before the sample until so long behind it. Before the sample
/// the first messages of the long queue go to disk.
const RATE_PER_S: f64 = 50_000.0;
const BEFORE: Duration = Duration::from_secs(1);
const BEHIND_S: f64 = 1.0;
/// The long queue, the second one of its flow.
const LONG: u32 = 1;
/// The folder of pages in the data directory.
const PAGES: &str = "pages";
/// The part of their rate that other consumers must keep, in per cent.
const PERCENT_WANTED: f64 = 90.0;

/// A node that is started with either watermark.
struct Subject<'a> {
    task: &'a ServerTask,
    sample_s: f64,
}

impl Subject<'_> {
    /// Returns the rates of the short queue without and with paging, the latter in per cent, and the rates of the publisher.
    fn sample(&self) -> Result<[f64; 5]> {
        let [(without, added), (with, paged)] = [
            self.measure(None).context("without paging")?,
            self.measure(Some(WATERMARK)).context("with paging")?,
        ];
        Ok([without, with, 100.0 * with / without, added, paged])
    }

    fn measure(&self, memory_bytes: Option<u64>) -> Result<(f64, f64)> {
        let server = Rc::new(Running::start(&ServerTask { memory_bytes, ..self.task.clone() })?);
        let flow = Flow { body_size: BODY_SIZE, queue_count: LONG + 1, producer_count: 1, ..Flow::default() };
        let filling = Flow {
            confirm_window: Some(FILL_WINDOW),
            duration_s: FILL_S,
            message_count_max: FILL_COUNT,
            ..flow
        };
        let mut link = Link::open(server.address)?;
        flow.declare(&mut link)?;
        link.select_confirms()?;
        let filled = publish(&mut link, &filling, LONG)?.count;
        ensure!(filled == FILL_COUNT, "{filled} of {FILL_COUNT} messages are published after {FILL_S} s");

        let duration_s = BEFORE.as_secs_f64() + self.sample_s + BEHIND_S;
        let adding = Flow { rate_per_s: Some(RATE_PER_S), duration_s, ..flow };
        let mut link = Link::open(server.address)?;
        let scenario = Scenario { case: CaseName::BesidePaging, size: 16, loop_count: None };
        let stream = Stream { server: Rc::clone(&server), scenario, sample_s: self.sample_s, probe: None };
        let (sample, added) = thread::scope(|scope| {
            let publisher = scope.spawn(move || {
                let start_ns = now_ns();
                let end = publish(&mut link, &adding, LONG)?;
                anyhow::Ok(end.count as f64 * 1e9 / (end.ns - start_ns) as f64)
            });
            thread::sleep(BEFORE);
            (stream.sample(), publisher.join())
        });
        let added = added.map_err(|_| anyhow!("a thread of this process panicked"))??;
        let pages = server.data.as_ref().context("a node without a data directory")?.join(PAGES);
        let mut files = files_below(&pages)?.into_iter();
        let is_paged = files.any(|file| file.extension().is_some_and(|extension| extension == SEGMENT));
        ensure!(is_paged == memory_bytes.is_some(), "the long queue is in the wrong place");
        Ok((sample?.rate(), added))
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a short queue beside a long one, {}", self.task.kind.text())
    }
}

/// Measures our node, which is started for `task`.
pub fn measure(
    plan: &Plan,
    task: &ServerTask,
    conclusion: &mut Vec<String>,
    failures: &mut Vec<String>,
) -> Result<Table> {
    let subjects = [Subject { task, sample_s: plan.sample_s }];
    let samples = take_turns("broker", plan.repeat_count, &subjects, |subject| Ok(subject.sample()))?;
    let mut figures = Vec::new();
    for sample in samples.into_iter().flatten() {
        match sample {
            Ok(sample) => figures.push(sample),
            Err(error) => failures.push(format!("{}: {error:#}", subjects[0])),
        }
    }
    let spread = |index: usize| Spread::of(figures.iter().map(|figures| figures[index]));
    let percent = spread(2);
    let row = Row::default()
        .show("contender", "whose", Value::text(task.kind.text()))
        .show("n", "n", Value::count(figures.len()))
        .show("without_paging", "short queue without paging", Value::spread(spread(0), rate))
        .show("with_paging", "with paging", Value::spread(spread(1), rate))
        .show("percent", "per cent", Value::spread(percent, |percent| format!("{percent:.0}")))
        .show("added_without_paging", "long queue without paging", Value::spread(spread(3), rate))
        .show("added_with_paging", "with paging", Value::spread(spread(4), rate));
    if let Some(Spread { median, .. }) = percent {
        let verdict = verdict(median >= PERCENT_WANTED);
        conclusion
            .push(format!("beside paging: {median:.0}% of the rate, target {PERCENT_WANTED}%: {verdict}."));
    }
    let title = "A short queue in and out beside a long queue, messages a second (median [min-max])";
    Ok(Table { key: "beside_paging", title, rows: vec![row], legend: "" })
}
