//! The run of the study: samples the contenders in turns, and reports.

use anyhow::Result;

use super::part::{CAPACITY, PLAIN_CAPACITY, YIELD_US};
use super::plan::ServiceCase;
use super::plan::{self, Plan, Settings};
use super::sample::{Sample, Subject};
use crate::frame::{Report, Row, Spread, Table, Value, rate, short, take_turns};
use crate::sample::{self, RIVAL_NAME};

const LEGEND: &str = "\
median [min-max]; real is the client's clock from the first request to the last reply, and the time that the others were there; \
of tripping the one process is client, proxy and worker; workers are taken together.";

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let plan = Plan::new(settings);
    let mut setting = sample::setting(&settings.rival);
    let has = |case| plan.rows.iter().any(|row| row.case == case);
    if has(ServiceCase::Tripping) {
        setting.notes.push(format!(
            "through a proxy ours yields the processor for {YIELD_US} us before it sleeps (yield_us); all else is as by default"
        ));
    }
    if has(ServiceCase::Services) {
        setting.notes.push(format!(
            "our workers say that they may have {CAPACITY} requests at a time; all else is as by default"
        ));
    }
    if setting.has_rival() && has(ServiceCase::StockedPlainWorkers) {
        setting.notes.push(format!(
            "stocked plain workers do one request at a time, and the next {} wait in their sockets (serve --limit plain-capacity={PLAIN_CAPACITY})",
            PLAIN_CAPACITY - 1
        ));
    }
    if !setting.has_rival() && (has(ServiceCase::PlainWorkers) || has(ServiceCase::StockedPlainWorkers)) {
        setting.notes.push("plain workers are the rival's, and were left out with it".to_owned());
    }
    let mut subjects = Vec::new();
    for &row in &plan.rows {
        let request_count = plan.request_count(row);
        let libzmq = &settings.rival.libzmq;
        let schemes = row.schemes(setting.has_rival()).iter();
        subjects.extend(schemes.map(|&scheme| Subject { scheme, row, request_count, libzmq }));
    }
    let samples = take_turns("services", plan.repeat_count, &subjects, Subject::sample)?;
    let measured: Vec<(&Subject<'_>, &[Sample])> =
        subjects.iter().zip(samples.iter().map(Vec::as_slice)).collect();
    let of_row = measured.chunk_by(|(one, _), (other, _)| one.row == other.row);
    let (mut rows, mut conclusion) = (Vec::new(), Vec::new());
    for contenders in of_row {
        let row = contenders[0].0.row;
        let ratio = ratio(contenders);
        rows.extend(contenders.iter().filter_map(|(subject, samples)| rates(subject, samples, ratio)));
        conclusion.extend(verdict(row, ratio));
    }
    let processes = measured.iter().flat_map(|(subject, samples)| costs(subject, samples)).collect();
    let report = Report {
        study: "services",
        setting,
        about: format!("requests and their replies over tcp, n = {}", plan.repeat_count),
        tables: vec![
            Table { key: "cases", title: "", rows, legend: "" },
            Table { key: "processes", title: "Of each process", rows: processes, legend: LEGEND },
        ],
        conclusion,
        charts: Vec::new(),
    };
    report.print(settings.common.json)
}

/// The rate of ours in times of the rival's, if both were measured.
fn ratio(contenders: &[(&Subject<'_>, &[Sample])]) -> Option<f64> {
    let rate = |is_rival: bool| {
        let found = contenders.iter().find(|(subject, _)| (subject.scheme.owner() == RIVAL_NAME) == is_rival);
        Some(Spread::of(found?.1.iter().map(Sample::rate))?.median)
    };
    Some(rate(false)? / rate(true)?)
}

fn verdict(row: plan::Row, ratio: Option<f64>) -> Option<String> {
    let (ratio, target) = (ratio?, row.target()?);
    let verdict = if ratio >= target { "reached" } else { "missed" };
    Some(format!("{}: {ratio:.2}x {RIVAL_NAME}, target {target}x: {verdict}.", row.text()))
}

fn names(subject: &Subject<'_>) -> Row {
    let plan::Row { case, mode, worker_count } = subject.row;
    Row::default()
        .show("case", "case", Value::text(case.text()))
        .show("mode", "mode", Value::text(mode.text()))
        .show("workers", "workers", Value::count(worker_count))
        .show("contender", "contender", Value::text(subject.scheme.owner()))
}

fn rates(subject: &Subject<'_>, samples: &[Sample], ratio: Option<f64>) -> Option<Row> {
    let real_s = Spread::of(samples.iter().map(|sample| sample.elapsed_s))?;
    let row = names(subject)
        .show("requests", "requests", Value::count(subject.request_count))
        .keep("unit", Value::text("requests/s"))
        .keep("n", Value::count(samples.len()))
        .show("real_s", "real s", Value::spread(real_s, short))
        .show("rate", "requests/s", Value::spread(Spread::of(samples.iter().map(Sample::rate))?, rate))
        .show("ratio", "ratio", Value::ratio(ratio))
        .show("target_ratio", "target", Value::ratio(subject.row.target()));
    Some(row)
}

/// A row for each kind of process.
fn costs(subject: &Subject<'_>, samples: &[Sample]) -> Vec<Row> {
    let roles = samples.first().into_iter().flat_map(|sample| &sample.processes);
    let row = |(index, (role, _)): (usize, &(&'static str, _))| {
        let spread = |of: fn(&Sample, usize) -> f64| {
            Value::spread(Spread::of(samples.iter().map(|sample| of(sample, index))), short)
        };
        let user = |sample: &Sample, index: usize| {
            let usage = &sample.processes[index].1.usage;
            (usage.cpu_s - usage.system_s).max(0.0)
        };
        names(subject)
            .show("role", "process", Value::text(*role))
            .show("real_s", "real s", spread(|sample, index| sample.processes[index].1.elapsed_s))
            .show("user_s", "user s", spread(user))
            .show("system_s", "system s", spread(|sample, index| sample.processes[index].1.usage.system_s))
    };
    roles.enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::{plan, verdict};
    use crate::services::plan::{Mode, ServiceCase};

    #[test]
    fn a_verdict_says_whether_the_target_was_reached() {
        let row = plan::Row { case: ServiceCase::Tripping, mode: Mode::Sync, worker_count: 1 };
        let reached = "tripping sync: 2.50x libzmq, target 2.5x: reached.";
        assert_eq!(verdict(row, Some(2.5)).as_deref(), Some(reached));
        let missed = "tripping sync: 2.40x libzmq, target 2.5x: missed.";
        assert_eq!(verdict(row, Some(2.4)).as_deref(), Some(missed));
        assert_eq!(verdict(row, None), None);
    }
}
