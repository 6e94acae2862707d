//! `Case`: the samples of a row, their figures, and their place in the report.

use super::plan::{Row as Scenario, TASK_SIZE, Transport, UNBOUNDED_COUNT, WORKER_COUNT};
use super::sample::Sample;
use crate::frame::{Measurement, Row, Spread, Value, name, rate, short};

/// The samples of a row.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) row: Scenario,
    /// The samples by contender: ours, batches, blocks.
    pub(super) samples: Vec<Vec<Sample>>,
    /// Part of the rate of ours and of batches that is lost against the most in flight, in per cent.
    pub(super) cost_percents: [Option<f64>; 2],
}

impl Case {
    /// The rate of a contender, if it was measured.
    pub(super) fn rate(&self, contender: usize) -> Option<Spread> {
        Spread::of(self.samples.get(contender)?.iter().map(|sample| sample[0].rate()))
    }

    pub(super) fn row(&self, transport: Transport) -> Option<Row> {
        let in_flight = self.row.in_flight_count;
        let window = self.window_text();
        let is_unbounded = in_flight == UNBOUNDED_COUNT;
        let in_flight_text = if is_unbounded { format!("unbounded / {window}") } else { window.clone() };
        let (ours, blocks) = (self.rate(0)?, self.rate(2));
        let [cost, rival_cost] =
            self.cost_percents.map(|cost| Value::figure(cost, |cost| format!("{cost:.1}%")));
        let row = Row::default()
            .keep("case", Value::text("pipeline"))
            .keep("transport", Value::text(name(&transport)))
            .keep("size", Value::count(TASK_SIZE))
            .keep("workers", Value::count(WORKER_COUNT))
            .keep("unit", Value::text("tasks/s"))
            .keep("n", Value::count(self.samples[0].len()))
            .keep("window", Value::other(self.row.window(), window))
            .show("task_us", "task us", Value::count(self.row.task_us))
            .show("in_flight", "in flight", Value::other(in_flight, in_flight_text))
            .compare(ours, self.rate(1));
        if self.row.task_us > 0 {
            let row = row.show("cost_percent", "ours less by", cost);
            return Some(row.show("rival_cost_percent", "rival less by", rival_cost));
        }
        let target = Value::figure(self.row.target(), |target| format!("{target}x"));
        let blocks_ratio = blocks.map(|blocks| ours.median / blocks.median);
        let row = row
            .show("target_ratio", "target", target)
            .show("blocks", "REQ/REP blocks", Value::spread(blocks, rate))
            .show("blocks_ratio", "ratio", Value::ratio(blocks_ratio))
            .keep("cost_percent", cost)
            .keep("rival_cost_percent", rival_cost);
        Some(row)
    }

    /// Returns a row for each contender.
    pub(super) fn costs(&self) -> impl Iterator<Item = Row> {
        let contenders = ["ours", "batches", "blocks"].into_iter().zip(&self.samples);
        contenders.filter_map(|(contender, samples)| {
            let tasks = samples.first()?[0].count;
            let cpu_s = |sample: &Sample| sample.iter().map(|member| member.usage.cpu_s).sum::<f64>();
            let cpu_s = Spread::of(samples.iter().map(|sample| cpu_s(sample) * 1e6 / tasks as f64))?.median;
            let peak = |members: fn(&Sample) -> &[Measurement]| {
                Value::memory(samples.iter().flat_map(members).map(|member| member.peak_size).max())
            };
            let shares = shares_percent(samples);
            let shares_text = shares.map(|share| format!("{share:.0}%")).join(" ");
            let row = Row::default()
                .show("task_us", "task us", Value::count(self.row.task_us))
                .show("in_flight", "in flight", Value::count(self.row.in_flight_count))
                .show("contender", "contender", Value::text(contender))
                .show("tasks", "tasks", Value::other(tasks, rate(tasks as f64)))
                .show("cpu_s_per_million", "cpu s/M", Value::figure(cpu_s, short))
                .show("ventilator_peak_size", "ventilator", peak(|sample| &sample[..1]))
                .show("worker_peak_size", "worker", peak(|sample| &sample[2..]))
                .show("sink_peak_size", "sink", peak(|sample| &sample[1..2]))
                .show("worker_share_percent", "workers' shares", Value::other(shares, shares_text));
            Some(row)
        })
    }

    /// The window, or `auto` if it grows by itself.
    pub(super) fn window_text(&self) -> String {
        self.row.window().map_or_else(|| "auto".to_owned(), |window| window.to_string())
    }

    pub(super) fn verdict(&self) -> Option<String> {
        let (ratio, target) = (self.rate(0)?.median / self.rate(1)?.median, self.row.target()?);
        let verdict = if ratio >= target { "reached" } else { "missed" };
        let unbounded = || "Unbounded against a window that grows by itself".to_owned();
        let subject = self.row.window().map_or_else(unbounded, |window| format!("{window} in flight"));
        Some(format!("{subject}: {ratio:.2}x libzmq's batches, target {target}x: {verdict}."))
    }
}

/// The workers' parts of all tasks, ascending.
fn shares_percent(samples: &[Sample]) -> [f64; WORKER_COUNT] {
    let mut shares = [0.0; WORKER_COUNT];
    for sample in samples {
        let mut counts: Vec<u64> = sample[2..].iter().map(|worker| worker.count).collect();
        counts.sort_unstable();
        for (share, count) in shares.iter_mut().zip(counts) {
            *share += 100.0 * count as f64 / sample[0].count as f64 / samples.len() as f64;
        }
    }
    shares
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Case, Measurement, Sample, Scenario};
    use crate::frame::usage::Usage;

    fn sample(task_count: u64, elapsed_s: f64) -> Sample {
        let usage = Usage { cpu_s: 0.25, system_s: 0.1, voluntary_switches: 10, allocations: 0 };
        let ventilator = Measurement { count: task_count, elapsed_s, usage, peak_size: 3 << 20 };
        let sink = Measurement { peak_size: 5 << 20, ..ventilator };
        let worker = |percent: u64| Measurement {
            count: task_count * percent / 100,
            usage: Usage::default(),
            peak_size: (elapsed_s * 1e6) as u64,
            ..ventilator
        };
        [ventilator, sink, worker(40), worker(10), worker(30), worker(20)]
    }

    /// A case with the samples of contenders. A sample is its number of tasks and its time.
    pub fn case_of(in_flight_count: u64, task_us: u64, contenders: &[&[(u64, f64)]]) -> Case {
        let samples = contenders.iter().map(|samples| samples.iter().map(|&(a, b)| sample(a, b)).collect());
        Case {
            row: Scenario { in_flight_count, task_us },
            samples: samples.collect(),
            cost_percents: [None; 2],
        }
    }

    pub fn case(in_flight_count: u64, task_us: u64, rival_s: &[f64]) -> Case {
        let rival: Vec<(u64, f64)> = rival_s.iter().map(|&elapsed_s| (1000, elapsed_s)).collect();
        case_of(in_flight_count, task_us, &[&[1.0, 4.0, 2.0].map(|s| (1000, s)), &rival, &rival])
    }

    #[test]
    fn shares_go_from_the_idlest_worker_to_the_busiest() {
        let case = case(10, 0, &[]);
        let costs: Vec<_> = case.costs().map(|row| row.json()).collect();
        let [costs] = &costs[..] else { panic!("the costs of ours alone: {costs:?}") };
        for (index, expected) in [10.0, 20.0, 30.0, 40.0].into_iter().enumerate() {
            let share = costs["worker_share_percent"][index].as_f64().unwrap();
            assert!((share - expected).abs() < 1e-9, "{costs:?}");
        }
        assert_eq!(costs["cpu_s_per_million"], 500.0);
        assert_eq!(costs["worker_peak_size"], 4_000_000);
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
