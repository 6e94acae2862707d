//! The run of the study: samples the contenders in turns, then the controls, and reports.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use hairstreak_chart::{Axis, Chart, Line, PALETTE};

use super::conclusion::{Control, Load, conclude};
use super::plan::{CONTROL_SIZE, CONTROL_TRANSPORTS, Plan, Settings, TRANSPORT};
use crate::frame::{Report, Row, Spread, Table, Value, name, rate, short, take_turns};
use crate::sample::{self, Calls, CaseName, ContenderName, Sample, Scenario, Subject, Transport};

/// Far more than the caches hold.
const COPY_SIZE: usize = 64 << 20;
const COPY_COUNT: u32 = 4;

/// Runs the study, draws its charts and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let plan = Plan::new(settings);
    // Fails before minutes of measuring.
    std::fs::create_dir_all(&settings.out).context("cannot make the directory of the charts")?;
    let mut setting = sample::setting(&settings.rival);
    let cores = setting.machine.cores;
    let threads = 2 * plan.stream_counts.last().copied().unwrap_or(1);
    if threads > cores {
        setting.notes.push(format!(
            "{threads} client threads on {cores} cores: streams wait for each other, so scaling shows in processor time \
             per message and not in totals"
        ));
    }
    let bench = Bench { plan: &plan, libzmq: &settings.rival.libzmq, has_rival: setting.has_rival() };
    let cases = bench.measure_cases()?;
    let (controls, control_rows) = bench.measure_controls()?;
    let most = cases.iter().map(|case| case.megabits(case.ours) * 1e6 / 8.0).fold(0.0, f64::max);
    let load = Load { bytes_per_s: most, copied_bytes_per_s: copied_bytes_per_s() };
    let rows = cases.iter().map(|case| case.row(&plan)).collect();
    let title = "Messages per second and megabits of bodies per second, all streams together";
    let cases_table = Table { key: "cases", title, rows, legend: "" };
    let title = "Processor time of a message, from the fewest streams to the most";
    let controls_table = Table { key: "controls", title, rows: control_rows, legend: "" };
    let report = Report {
        study: "streams",
        setting,
        about: format!("streams of {} messages over tcp, n = {}", plan.message_count, plan.repeat_count),
        tables: vec![cases_table, controls_table],
        conclusion: conclude(&controls, load, cores),
        charts: draw(&cases, &plan, Path::new(&settings.out))?,
    };
    report.print(settings.common.json)
}

/// The figures of a size with a number of streams.
struct Case {
    size: usize,
    streams: usize,
    ours: Spread,
    rival: Option<Spread>,
    cpu: f64,
    rival_cpu: Option<f64>,
}

impl Case {
    fn new(scenario: &Scenario, ours: &[Sample], rival: &[Sample]) -> Option<Case> {
        let rates = |samples: &[Sample]| Spread::of(samples.iter().map(Sample::rate));
        let cpu =
            |samples: &[Sample]| Some(Spread::of(samples.iter().map(Sample::cpu_s_per_million))?.median);
        Some(Case {
            size: scenario.size,
            streams: scenario.stream_count,
            ours: rates(ours)?,
            rival: rates(rival),
            cpu: cpu(ours)?,
            rival_cpu: cpu(rival),
        })
    }

    fn megabits(&self, rate: Spread) -> f64 {
        rate.median * self.size as f64 * 8.0 / 1e6
    }

    fn row(&self, plan: &Plan) -> Row {
        Row::default()
            .keep("case", Value::text("streams"))
            .keep("transport", Value::text(name(&TRANSPORT)))
            .show("size", "size", Value::count(self.size))
            .show("streams", "streams", Value::count(self.streams))
            .keep("calls", Value::text(name(&Calls::One)))
            .keep("unit", Value::text("messages/s"))
            .keep("n", Value::count(plan.repeat_count))
            .keep("messages", Value::count(plan.message_count))
            .compare(self.ours, self.rival)
            .show("ours_mbit", "ours Mbit/s", Value::figure(self.megabits(self.ours), short))
            .show(
                "rival_mbit",
                "rival Mbit/s",
                Value::figure(self.rival.map(|rate| self.megabits(rate)), short),
            )
            .keep("cpu_s_per_million", Value::figure(self.cpu, short))
            .keep("rival_cpu_s_per_million", Value::figure(self.rival_cpu, short))
    }
}

struct Bench<'a> {
    plan: &'a Plan,
    libzmq: &'a str,
    has_rival: bool,
}

impl Bench<'_> {
    /// Measures each size by itself, all numbers of streams in turns.
    fn measure_cases(&self) -> Result<Vec<Case>> {
        let mut cases = Vec::new();
        for &size in &self.plan.sizes {
            let scenarios: Vec<Scenario> =
                self.plan.stream_counts.iter().map(|&count| scenario(TRANSPORT, size, count)).collect();
            let contenders = self.contenders();
            let turns = scenarios.iter().flat_map(|scenario| {
                let message_count = self.plan.message_count;
                contenders.iter().map(move |&contender| self.subject(scenario, contender, message_count))
            });
            let samples =
                take_turns("streams", self.plan.repeat_count, &turns.collect::<Vec<_>>(), Subject::sample)?;
            for (scenario, samples) in scenarios.iter().zip(samples.chunks(contenders.len())) {
                let rival = samples.get(1).map_or(&[][..], Vec::as_slice);
                cases.extend(Case::new(scenario, &samples[0], rival));
            }
        }
        Ok(cases)
    }

    /// Measures ours over every transport of the controls, and the rival over that of the streams. Returns the controls of ours.
    fn measure_controls(&self) -> Result<(Vec<Control>, Vec<Row>)> {
        let mut scenarios = Vec::new();
        for transport in CONTROL_TRANSPORTS {
            for &contender in &self.contenders() {
                if contender == ContenderName::Ours || transport == TRANSPORT {
                    let counts = self.plan.stream_counts.iter();
                    scenarios
                        .extend(counts.map(|&count| (scenario(transport, CONTROL_SIZE, count), contender)));
                }
            }
        }
        let message_count = self.plan.control_message_count;
        let subjects: Vec<Subject<'_>> = scenarios
            .iter()
            .map(|(scenario, contender)| self.subject(scenario, *contender, message_count))
            .collect();
        let samples = take_turns("streams", self.plan.control_repeat_count, &subjects, Subject::sample)?;
        let (mut controls, mut rows, mut first) = (Vec::new(), Vec::new(), 0.0);
        for ((scenario, contender), samples) in scenarios.iter().zip(&samples) {
            let Some(cpu) = Spread::of(samples.iter().map(Sample::cpu_s_per_million)) else { continue };
            if self.plan.stream_counts.first() == Some(&scenario.stream_count) {
                first = cpu.median;
            }
            let Some(control) = Control::new(scenario, samples, first) else { continue };
            rows.push(control_row(&control, *contender, cpu, message_count));
            controls.extend((*contender == ContenderName::Ours).then_some(control));
        }
        Ok((controls, rows))
    }

    fn contenders(&self) -> Vec<ContenderName> {
        let rival = self.has_rival.then_some(ContenderName::Libzmq);
        std::iter::once(ContenderName::Ours).chain(rival).collect()
    }

    fn subject<'a>(
        &'a self,
        scenario: &'a Scenario,
        contender: ContenderName,
        message_count: u64,
    ) -> Subject<'a> {
        Subject { scenario, contender, calls: Calls::One, message_count, libzmq: self.libzmq }
    }
}

fn scenario(transport: Transport, size: usize, stream_count: usize) -> Scenario {
    Scenario { case: CaseName::Throughput, transport, size, calls: vec![Calls::One], stream_count }
}

fn control_row(control: &Control, contender: ContenderName, cpu: Spread, message_count: u64) -> Row {
    Row::default()
        .show("contender", "contender", Value::text(contender.text()))
        .show("transport", "over", Value::text(name(&control.transport)))
        .show("size", "size", Value::count(CONTROL_SIZE))
        .show("streams", "streams", Value::count(control.streams))
        .show("n", "n", Value::count(control.n))
        .keep("messages", Value::count(message_count))
        .show("rate", "messages/s", Value::figure(control.rate, rate))
        .show("cpu_s_per_million", "cpu s/M [min-max]", Value::spread(cpu, short))
        .show("kernel_percent", "kernel", Value::percent(control.kernel_percent))
        .show("rise_percent", "rise", Value::figure(control.rise_percent, |rise| format!("{rise:+.1}%")))
}

/// A figure of a chart, from the rate of a contender.
type Figure = fn(&Case, Spread) -> f64;

/// Draws the two charts of the source into `directory` and returns their files: messages and megabits per second over the
/// size of a message, with a line for each number of streams. Lines of the rival are dashed.
fn draw(cases: &[Case], plan: &Plan, directory: &Path) -> Result<Vec<String>> {
    let charts: [(&str, &str, Figure); 2] = [
        ("streams-messages.svg", "Millions of messages", |_, rate| rate.median / 1e6),
        ("streams-megabits.svg", "Megabits", Case::megabits),
    ];
    let draw = |(file, unit, figure): (&str, &str, Figure)| {
        let mut lines = Vec::new();
        for is_rival in [false, true] {
            for (&count, color) in plan.stream_counts.iter().zip(PALETTE.into_iter().cycle()) {
                let points = cases.iter().filter(|case| case.streams == count).filter_map(|case| {
                    let position = plan.sizes.iter().position(|&size| size == case.size)?;
                    let rate = if is_rival { case.rival? } else { case.ours };
                    Some((position as f64, figure(case, rate)))
                });
                let contender = if is_rival { "libzmq" } else { "hairstreak" };
                let label = format!("{contender}, {count} stream{}", if count == 1 { "" } else { "s" });
                lines.push(Line { label, color, is_dashed: is_rival, points: points.collect() });
            }
        }
        // A label for each size: the axis counts sizes, because they double from one to the next.
        let x = Axis::labels("bytes per message", plan.sizes.iter().map(ToString::to_string).collect());
        let title = format!("{unit} per second, all streams together");
        let chart = Chart { title, x, y: Axis::over("", &lines), lines };
        Ok(chart.draw(&directory.join(file))?)
    };
    charts.into_iter().map(draw).collect()
}

/// Returns the best rate of a few copies of memory that no cache holds.
fn copied_bytes_per_s() -> f64 {
    let source = vec![1_u8; COPY_SIZE];
    let mut target = vec![0_u8; COPY_SIZE];
    let rates = (0..COPY_COUNT).map(|_| {
        let start = Instant::now();
        target.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&target);
        COPY_SIZE as f64 / start.elapsed().as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}
