//! The run of the study: samples the contenders in turns, and reports.

use anyhow::Result;

use super::part::{CAPACITY, PLAIN_CAPACITY, YIELD_US};
use super::plan::{self, Scheme, Settings};
use super::sample::{Role, Sample, Task};
use crate::frame::{Measurement, Report, Row, Spread, Table, Value, name, rate, short, take_turns};
use crate::sample::{self, RIVAL_NAME};

const LEGEND: &str = "\
median [min-max]; real is the client's clock from the first request to the last reply, and the time that the others were there; \
of tripping the one process is client, proxy and worker; workers are taken together.";

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let plan = settings.rows();
    let mut setting = sample::setting(&settings.rival);
    let has = |case| plan.iter().any(|row| row.case == case);
    if has(Scheme::Tripping) {
        setting.notes.push(format!(
            "through a proxy ours yields the processor for {YIELD_US} us before it sleeps (yield_us); all else is as by default"
        ));
    }
    if has(Scheme::Services) {
        setting.notes.push(format!(
            "our workers say that they may have {CAPACITY} requests at a time; all else is as by default"
        ));
    }
    if setting.has_rival() && has(Scheme::StockedPlainWorkers) {
        setting.notes.push(format!(
            "stocked plain workers do one request at a time, and the next {} wait in their sockets (serve --limit plain-capacity={PLAIN_CAPACITY})",
            PLAIN_CAPACITY - 1
        ));
    }
    if !setting.has_rival() && (has(Scheme::PlainWorkers) || has(Scheme::StockedPlainWorkers)) {
        setting.notes.push("plain workers are the rival's, and were left out with it".to_owned());
    }
    let mut tasks = Vec::new();
    for &row in &plan {
        tasks.extend(row.schemes(setting.has_rival()).into_iter().map(|scheme| Task {
            scheme,
            role: Role::Client,
            row,
            request_count: settings.request_count(row),
            endpoint: String::new(),
            libzmq: settings.rival.libzmq.clone(),
        }));
    }
    let repeat_count = settings.repeat_count();
    let mut samples = take_turns("services", repeat_count, &tasks, Task::sample)?.into_iter();
    let (mut rows, mut processes, mut conclusion) = (Vec::new(), Vec::new(), Vec::new());
    for contenders in tasks.chunk_by(|one, other| one.row == other.row) {
        let samples: Vec<Vec<Sample>> = samples.by_ref().take(contenders.len()).collect();
        let rates = samples.iter().map(|one| Spread::of(one.iter().map(|sample| sample.client.rate())));
        let rates: Vec<Option<Spread>> = rates.collect();
        let median = |index: usize| Some((*rates.get(index)?)?.median);
        let ratio = median(0).zip(median(1)).map(|(ours, rival)| ours / rival);
        for ((task, samples), per_s) in contenders.iter().zip(&samples).zip(&rates) {
            let names = names(task);
            let real_s = Spread::of(samples.iter().map(|sample| sample.client.elapsed_s));
            processes.extend(costs(&names, samples));
            rows.push(
                names
                    .show("requests", "requests", Value::count(task.request_count))
                    .keep("unit", Value::text("requests/s"))
                    .keep("n", Value::count(samples.len()))
                    .show("real_s", "real s", Value::spread(real_s, short))
                    .show("rate", "requests/s", Value::spread(*per_s, rate))
                    .show("ratio", "ratio", Value::ratio(ratio))
                    .show("target_ratio", "target", Value::ratio(task.row.target())),
            );
        }
        conclusion.extend(verdict(contenders[0].row, ratio));
    }
    let report = Report {
        study: "services",
        setting,
        about: format!("requests and their replies over tcp, n = {repeat_count}"),
        tables: vec![
            Table { key: "cases", title: "", rows, legend: "" },
            Table { key: "processes", title: "Of each process", rows: processes, legend: LEGEND },
        ],
        conclusion,
        charts: Vec::new(),
    };
    report.print(settings.common.json)
}

fn verdict(row: plan::Row, ratio: Option<f64>) -> Option<String> {
    let (ratio, target) = (ratio?, row.target()?);
    let verdict = if ratio >= target { "reached" } else { "missed" };
    Some(format!("{}: {ratio:.2}x {RIVAL_NAME}, target {target}x: {verdict}.", row.text()))
}

fn names(task: &Task) -> Row {
    Row::default()
        .show("case", "case", Value::text(task.row.case.text()))
        .show("mode", "mode", Value::text(name(&task.row.mode)))
        .show("workers", "workers", Value::count(task.row.worker_count))
        .show("contender", "contender", Value::text(task.scheme.owner()))
}

/// A row for each kind of process.
fn costs(names: &Row, samples: &[Sample]) -> impl Iterator<Item = Row> {
    (0..samples[0].processes.len()).map(|index| {
        let spread = |of: fn(&Measurement) -> f64| {
            Value::spread(Spread::of(samples.iter().map(|sample| of(&sample.processes[index].1))), short)
        };
        names
            .clone()
            .show("role", "process", Value::text(samples[0].processes[index].0))
            .show("real_s", "real s", spread(|used| used.elapsed_s))
            .show("user_s", "user s", spread(|used| (used.usage.cpu_s - used.usage.system_s).max(0.0)))
            .show("system_s", "system s", spread(|used| used.usage.system_s))
    })
}

#[cfg(test)]
mod tests {
    use super::{plan, verdict};
    use crate::services::plan::{Mode, Scheme};

    #[test]
    fn a_verdict_says_whether_the_target_was_reached() {
        let row = plan::Row { case: Scheme::Tripping, mode: Mode::Sync, worker_count: 1 };
        let reached = "tripping sync: 2.50x libzmq, target 2.5x: reached.";
        assert_eq!(verdict(row, Some(2.5)).as_deref(), Some(reached));
        let missed = "tripping sync: 2.40x libzmq, target 2.5x: missed.";
        assert_eq!(verdict(row, Some(2.4)).as_deref(), Some(missed));
        assert_eq!(verdict(row, None), None);
    }
}
