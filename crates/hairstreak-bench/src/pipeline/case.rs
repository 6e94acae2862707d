//! `Case`: the figures of a row, and its place in the report.

use super::plan::{Row as Scenario, UNBOUNDED_COUNT, target, window};
use super::sample::{Sample, TASK_SIZE, Transport, WORKER_COUNT};
use crate::frame::{Row, Spread, Value, name, rate, short};

/// The figures of a row.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) row: Scenario,
    n: usize,
    pub(super) ours: Spread,
    pub(super) rival: Option<Spread>,
    pub(super) blocks: Option<Spread>,
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
    pub(super) fn new(row: Scenario, samples: [&[Sample]; 3]) -> Option<Case> {
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

    pub(super) fn row(&self, transport: Transport) -> Row {
        let window_count = window(self.row.in_flight_count);
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
            .keep("window", Value::other(window_count, self.window_text()))
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
        let target = Value::figure(target(self.row), |target| format!("{target}x"));
        let blocks_ratio = self.blocks.map(|blocks| self.ours.median / blocks.median);
        row.show("target_ratio", "target", target)
            .show("blocks", "REQ/REP blocks", Value::spread(self.blocks, rate))
            .show("blocks_ratio", "ratio", Value::ratio(blocks_ratio))
            .keep("cost_percent", cost(self.cost_percent))
            .keep("rival_cost_percent", cost(self.rival_cost_percent))
    }

    pub(super) fn costs(&self) -> impl Iterator<Item = Row> {
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
        window(self.row.in_flight_count).map_or_else(|| "auto".to_owned(), |window| window.to_string())
    }

    pub(super) fn verdict(&self) -> Option<String> {
        let (ratio, target) = (self.ours.median / self.rival?.median, target(self.row)?);
        let verdict = if ratio >= target { "reached" } else { "missed" };
        let subject = match window(self.row.in_flight_count) {
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

#[cfg(test)]
pub(super) mod tests {
    use super::{Case, Sample, Scenario};
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
        Case::new(Scenario { in_flight_count, task_us }, [&ours, &rival, &rival]).unwrap()
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
}
