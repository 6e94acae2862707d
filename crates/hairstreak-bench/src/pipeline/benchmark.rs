//! The run of the study: samples the contenders in turns, and reports.

use std::path::Path;

use anyhow::{Context as _, Result};
use hairstreak_chart::{Axis, BLUE, Chart, Color, GREEN, Line, ORANGE};

use super::conclusion;
use super::plan::{self, Plan, Settings, UNBOUNDED_COUNT};
use super::sample::{Sample, Scheme, Subject, TASK_SIZE, Transport, WORKER_COUNT};
use crate::frame::{Report, Row, Spread, Table, Value, name, rate, short, take_turns};
use crate::sample;

const LEGEND: &str = "\
cpu s/M is user and system seconds of all processes per million tasks; then the most memory of each role (of the worker \
that had most); shares go from the worker with fewest tasks to the one with most.";

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let plan = Plan::new(settings);
    if let Some(directory) = &settings.out {
        // Fails before minutes of measuring.
        std::fs::create_dir_all(directory).context("cannot make the directory of the charts")?;
    }
    let setting = sample::setting(&settings.rival);
    let mut subjects = Vec::new();
    for &row in &plan.rows {
        subjects.extend(plan.schemes(row, setting.has_rival()).iter().map(|&scheme| Subject {
            scheme,
            transport: plan.transport,
            in_flight_count: row.in_flight_count,
            task_count: plan.task_count(scheme, row),
            task_us: row.task_us,
            libzmq: &settings.rival.libzmq,
        }));
    }
    let samples = take_turns("pipeline", plan.repeat_count, &subjects, Subject::sample)?;
    let of = |row: plan::Row, scheme| {
        let is_it = |subject: &Subject<'_>| {
            subject.scheme == scheme
                && (subject.in_flight_count, subject.task_us) == (row.in_flight_count, row.task_us)
        };
        subjects.iter().position(is_it).map_or(&[][..], |index| &samples[index])
    };
    let mut cases: Vec<Case> = plan
        .rows
        .iter()
        .filter_map(|&row| {
            Case::new(row, [Scheme::Window, Scheme::Batches, Scheme::Blocks].map(|one| of(row, one)))
        })
        .collect();
    let windows = conclusion::compare_windows(&mut cases);
    let chart = settings.out.as_ref().map(|directory| draw(&cases, Path::new(directory)));
    let (untimed, timed): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.row.task_us == 0);
    let rows = |cases: &[&Case]| cases.iter().map(|case| case.row(plan.transport)).collect();
    let costs = cases.iter().flat_map(Case::costs).collect();
    let report = Report {
        study: "pipeline",
        about: format!(
            "8 B tasks through 4 workers over {}, 6 processes, n = {}",
            name(&plan.transport),
            plan.repeat_count
        ),
        setting,
        tables: vec![
            Table {
                key: "cases",
                title: "Tasks per second (median [min-max])",
                rows: rows(&untimed),
                legend: "",
            },
            Table {
                key: "timed_cases",
                title: "Tasks that take time: tasks per second, and the cost against the most in flight",
                rows: rows(&timed),
                legend: "",
            },
            Table { key: "costs", title: "Costs", rows: costs, legend: LEGEND },
        ],
        conclusion: cases.iter().filter_map(Case::verdict).chain(windows).collect(),
        charts: chart.transpose()?.unwrap_or_default(),
    };
    report.print(settings.common.json)
}

/// The figures of a row.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) row: plan::Row,
    n: usize,
    pub(super) ours: Spread,
    pub(super) rival: Option<Spread>,
    blocks: Option<Spread>,
    /// Part of the rate that is lost against the most in flight, in per cent.
    pub(super) cost_percent: Option<f64>,
    pub(super) rival_cost_percent: Option<f64>,
    /// The costs of ours, of batches and of blocks.
    costs: [Option<Costs>; 3],
}

/// The costs of a contender in a row.
#[derive(Clone, Debug)]
struct Costs {
    tasks: u64,
    cpu_s_per_million: f64,
    /// The most memory of ventilator, worker and sink in bytes.
    peak_sizes: [u64; 3],
    /// The workers' parts of all tasks, ascending.
    shares_percent: [f64; WORKER_COUNT],
}

impl Case {
    fn new(row: plan::Row, samples: [&[Sample]; 3]) -> Option<Case> {
        let [ours, rival, blocks] = samples.map(|samples| Spread::of(samples.iter().map(Sample::rate)));
        Some(Case {
            row,
            n: samples[0].len(),
            ours: ours?,
            rival,
            blocks,
            cost_percent: None,
            rival_cost_percent: None,
            costs: samples.map(Costs::of),
        })
    }

    fn row(&self, transport: Transport) -> Row {
        let window = plan::window(self.row.in_flight_count);
        let in_flight = self.row.in_flight_count;
        let in_flight_text = match in_flight {
            UNBOUNDED_COUNT => format!("unbounded / {}", self.window_text()),
            count => count.to_string(),
        };
        let cost = |cost: Option<f64>| Value::figure(cost, |cost| format!("{cost:.1}%"));
        let row = Row::default()
            .keep("case", Value::text("pipeline"))
            .keep("transport", Value::text(name(&transport)))
            .keep("size", Value::count(TASK_SIZE))
            .keep("workers", Value::count(WORKER_COUNT))
            .keep("unit", Value::text("tasks/s"))
            .keep("n", Value::count(self.n))
            .keep("window", Value::other(window, self.window_text()))
            .show("task_us", "task us", Value::count(self.row.task_us))
            .show("in_flight", "in flight", Value::other(in_flight, in_flight_text))
            .compare(self.ours, self.rival);
        if self.row.task_us > 0 {
            return row.show("cost_percent", "ours less by", cost(self.cost_percent)).show(
                "rival_cost_percent",
                "rival less by",
                cost(self.rival_cost_percent),
            );
        }
        let target = Value::figure(plan::target(self.row), |target| format!("{target}x"));
        let blocks_ratio = self.blocks.map(|blocks| self.ours.median / blocks.median);
        row.show("target_ratio", "target", target)
            .show("blocks", "REQ/REP blocks", Value::spread(self.blocks, rate))
            .show("blocks_ratio", "ratio", Value::ratio(blocks_ratio))
            .keep("cost_percent", cost(self.cost_percent))
            .keep("rival_cost_percent", cost(self.rival_cost_percent))
    }

    fn costs(&self) -> impl Iterator<Item = Row> {
        let costs = ["ours", "batches", "blocks"].into_iter().zip(&self.costs);
        costs.filter_map(|(contender, costs)| Some((contender, costs.as_ref()?))).map(|(contender, costs)| {
            let [ventilator, worker, sink] = costs.peak_sizes.map(Value::memory);
            let shares = costs.shares_percent.map(|share| format!("{share:.0}%")).join(" ");
            Row::default()
                .show("task_us", "task us", Value::count(self.row.task_us))
                .show("in_flight", "in flight", Value::count(self.row.in_flight_count))
                .show("contender", "contender", Value::text(contender))
                .show("tasks", "tasks", Value::other(costs.tasks, rate(costs.tasks as f64)))
                .show("cpu_s_per_million", "cpu s/M", Value::figure(costs.cpu_s_per_million, short))
                .show("ventilator_peak_size", "ventilator", ventilator)
                .show("worker_peak_size", "worker", worker)
                .show("sink_peak_size", "sink", sink)
                .show("worker_share_percent", "workers' shares", Value::other(costs.shares_percent, shares))
        })
    }

    /// The window, or `auto` if it grows by itself.
    pub(super) fn window_text(&self) -> String {
        plan::window(self.row.in_flight_count).map_or_else(|| "auto".to_owned(), |window| window.to_string())
    }

    fn verdict(&self) -> Option<String> {
        let (ratio, target) = (self.ours.median / self.rival?.median, plan::target(self.row)?);
        let verdict = if ratio >= target { "reached" } else { "missed" };
        let subject = match plan::window(self.row.in_flight_count) {
            Some(window) => format!("{window} in flight"),
            None => "Unbounded against a window that grows by itself".to_owned(),
        };
        Some(format!("{subject}: {ratio:.2}x libzmq's batches, target {target}x: {verdict}."))
    }
}

impl Costs {
    fn of(samples: &[Sample]) -> Option<Costs> {
        let most = |of: fn(&Sample) -> u64| samples.iter().map(of).max();
        let mut shares_percent = [0.0; WORKER_COUNT];
        for sample in samples {
            let mut counts = sample.worker_task_counts;
            counts.sort_unstable();
            for (share, count) in shares_percent.iter_mut().zip(counts) {
                *share += 100.0 * count as f64 / sample.task_count as f64 / samples.len() as f64;
            }
        }
        Some(Costs {
            tasks: samples.first()?.task_count,
            cpu_s_per_million: Spread::of(samples.iter().map(Sample::cpu_s_per_million))?.median,
            peak_sizes: [
                most(|sample| sample.ventilator_peak_size)?,
                most(|sample| sample.worker_peak_size)?,
                most(|sample| sample.sink_peak_size)?,
            ],
            shares_percent,
        })
    }
}

/// A contender of the charts: its colour, whether its line is dashed, and its rate in a row.
type Contender = (&'static str, Color, bool, fn(&Case) -> Option<Spread>);

const CONTENDERS: [Contender; 3] = [
    ("hairstreak, window", BLUE, false, |case| Some(case.ours)),
    ("libzmq, batches", ORANGE, true, |case| case.rival),
    ("libzmq, REQ/REP blocks", GREEN, true, |case| case.blocks),
];

/// Draws the chart of the source into `directory`, once for each time that tasks take, and returns the files: tasks per second
/// over the number in flight, with a line for each contender.
fn draw(cases: &[Case], directory: &Path) -> Result<Vec<String>> {
    let charts = cases.chunk_by(|one, other| one.row.task_us == other.row.task_us).map(|cases| {
        let (file, each) = match cases[0].row.task_us {
            0 => ("pipeline.svg".to_owned(), String::new()),
            task_us => (format!("pipeline-{task_us}-us.svg"), format!(", each of {task_us} us")),
        };
        let lines = CONTENDERS.map(|(label, color, is_dashed, rate)| {
            let points = cases.iter().enumerate();
            let points =
                points.filter_map(|(index, case)| Some((index as f64, rate(case)?.median))).collect();
            Line { label: label.to_owned(), color, is_dashed, points }
        });
        let labels = cases.iter().map(|case| match case.row.in_flight_count {
            UNBOUNDED_COUNT => "unbounded".to_owned(),
            count => count.to_string(),
        });
        let x = Axis::labels("tasks in flight", labels.collect());
        let title = format!("Tasks per second by tasks in flight{each}");
        // Rates by powers of ten, because they span four.
        let chart = Chart { title, x, y: Axis::log_over("", &lines), lines: lines.into() };
        Ok(chart.draw(&directory.join(file))?)
    });
    charts.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::{Case, Sample, draw, plan};
    use crate::frame::usage::Usage;

    fn sample(elapsed_s: f64) -> Sample {
        Sample {
            task_count: 1000,
            elapsed_s,
            usage: Usage { cpu_s: 0.5, system_s: 0.1, voluntary_switches: 10, allocations: 0 },
            ventilator_peak_size: 3 << 20,
            worker_peak_size: (elapsed_s * 1e6) as u64,
            sink_peak_size: 5 << 20,
            worker_task_counts: [400, 100, 300, 200],
        }
    }

    pub fn case(in_flight_count: u64, task_us: u64, rival_s: &[f64]) -> Case {
        let rival: Vec<Sample> = rival_s.iter().copied().map(sample).collect();
        let ours = [1.0, 4.0, 2.0].map(sample);
        Case::new(plan::Row { in_flight_count, task_us }, [&ours, &rival, &rival]).unwrap()
    }

    #[test]
    fn shares_go_from_the_idlest_worker_to_the_busiest() {
        let [Some(costs), None, None] = case(10, 0, &[]).costs else { panic!("the costs of ours alone") };
        for (share, expected) in costs.shares_percent.iter().zip([10.0, 20.0, 30.0, 40.0]) {
            assert!((share - expected).abs() < 1e-9, "{costs:?}");
        }
        assert_eq!((costs.cpu_s_per_million, costs.peak_sizes[1]), (500.0, 4_000_000));
    }

    #[test]
    fn a_verdict_says_whether_the_target_was_reached() {
        let check = |case: Case, expected: Option<&str>| assert_eq!(case.verdict().as_deref(), expected);
        check(case(10, 0, &[4.0]), Some("10 in flight: 2.00x libzmq's batches, target 2.5x: missed."));
        check(case(10, 0, &[5.0]), Some("10 in flight: 2.50x libzmq's batches, target 2.5x: reached."));
        let unbounded =
            "Unbounded against a window that grows by itself: 4.00x libzmq's batches, target 4x: reached.";
        check(case(1_000_000, 0, &[8.0]), Some(unbounded));
        check(case(50, 0, &[4.0]), None);
        check(case(10, 0, &[]), None);
    }

    #[test]
    fn each_task_time_has_a_chart_with_a_line_per_contender() {
        let directory =
            std::env::temp_dir().join(format!("hairstreak-pipeline-charts-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let cases = [case(1_000_000, 0, &[4.0]), case(10, 0, &[4.0]), case(70, 100, &[])];
        let files = draw(&cases, &directory).unwrap();
        let names = ["pipeline.svg", "pipeline-100-us.svg"];
        assert_eq!(files, names.map(|name| directory.join(name).display().to_string()));
        let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        std::fs::remove_dir_all(&directory).unwrap();
        for label in
            ["hairstreak, window", "libzmq, batches", "libzmq, REQ/REP blocks", "unbounded", "\n10\n"]
        {
            assert!(texts[0].contains(label), "{label} in {}", texts[0]);
        }
        assert!(texts[1].contains("each of 100 us") && !texts[1].contains("libzmq"), "{}", texts[1]);
    }

    #[test]
    fn a_place_where_no_chart_can_go_is_named() {
        let error = draw(&[case(10, 0, &[])], Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().starts_with("cannot draw /dev/null/pipeline.svg: "), "{error}");
    }
}
