//! The run of the study: samples the contenders in turns, then the controls, and reports.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use hairstreak_chart::{Axis, Chart, Line, PALETTE};

use super::conclusion::{Control, conclude};
use super::plan::{CONTROL_SIZE, CONTROL_TRANSPORTS, Plan, Settings, TRANSPORT};
use crate::frame::{Report, Row, Spread, Table, Value, name, short, take_turns};
use crate::sample::{self, Calls, ContenderName, Sample, Subject};

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
    let rival = setting.has_rival().then_some(ContenderName::Libzmq);
    let contenders: Vec<_> = std::iter::once(ContenderName::Ours).chain(rival).collect();
    let cases = measure_cases(&plan, &contenders)?;
    let controls = measure_controls(&plan, &contenders)?;
    let most = cases.iter().filter_map(|case| case.megabits(OURS)).fold(0.0, f64::max);
    let rows = cases.iter().filter_map(|case| case.row(&plan)).collect();
    let title = "Messages per second and megabits of bodies per second, all streams together";
    let cases_table = Table { key: "cases", title, rows, legend: "" };
    let rows = controls.iter().map(Control::row).collect();
    let title = "Processor time of a message, from the fewest streams to the most";
    let controls_table = Table { key: "controls", title, rows, legend: "" };
    let report = Report {
        study: "streams",
        setting,
        about: format!("streams of {} messages over tcp, n = {}", plan.message_count, plan.repeat_count),
        tables: vec![cases_table, controls_table],
        conclusion: conclude(&controls, most * 1e6 / 8.0, copied_bytes_per_s(), cores),
        charts: draw(&cases, &plan, Path::new(&settings.out))?,
    };
    report.print(settings.common.json)
}

/// A size with a number of streams: the samples of ours, then those of the rival, if there is one.
struct Case {
    size: usize,
    streams: usize,
    samples: Vec<Vec<Sample>>,
}

/// The places in [`Case::samples`].
const OURS: usize = 0;
const RIVAL: usize = 1;

impl Case {
    fn spread(&self, contender: usize, figure: fn(&Sample) -> f64) -> Option<Spread> {
        Sample::spread(self.samples.get(contender)?, figure)
    }

    fn megamessages(&self, contender: usize) -> Option<f64> {
        Some(self.spread(contender, Sample::rate)?.median / 1e6)
    }

    fn megabits(&self, contender: usize) -> Option<f64> {
        Some(self.megamessages(contender)? * self.size as f64 * 8.0)
    }

    fn row(&self, plan: &Plan) -> Option<Row> {
        let cpu = |contender| Some(self.spread(contender, Sample::cpu_s_per_million)?.median);
        let row = Row::default()
            .keep("case", Value::text("streams"))
            .keep("transport", Value::text(name(&TRANSPORT)))
            .show("size", "size", Value::count(self.size))
            .show("streams", "streams", Value::count(self.streams))
            .keep("calls", Value::text(name(&Calls::One)))
            .keep("unit", Value::text("messages/s"))
            .keep("n", Value::count(plan.repeat_count))
            .keep("messages", Value::count(plan.message_count))
            .compare(self.spread(OURS, Sample::rate)?, self.spread(RIVAL, Sample::rate))
            .show("ours_mbit", "ours Mbit/s", Value::figure(self.megabits(OURS), short))
            .show("rival_mbit", "rival Mbit/s", Value::figure(self.megabits(RIVAL), short))
            .keep("cpu_s_per_million", Value::figure(cpu(OURS), short))
            .keep("rival_cpu_s_per_million", Value::figure(cpu(RIVAL), short));
        Some(row)
    }
}

/// Measures each size by itself, all numbers of streams in turns.
fn measure_cases(plan: &Plan, contenders: &[ContenderName]) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &size in &plan.sizes {
        let mut subjects = Vec::new();
        for &count in &plan.stream_counts {
            subjects
                .extend(contenders.iter().map(|&contender| plan.subject(contender, TRANSPORT, size, count)));
        }
        let samples = take_turns("streams", plan.repeat_count, &subjects, Sample::of)?;
        let groups = samples.chunks(contenders.len()).zip(&plan.stream_counts);
        cases.extend(groups.map(|(group, &streams)| Case { size, streams, samples: group.to_vec() }));
    }
    Ok(cases)
}

/// Measures ours over every transport of the controls, and the rival over that of the streams.
fn measure_controls(plan: &Plan, contenders: &[ContenderName]) -> Result<Vec<Control>> {
    let message_count = plan.control_message_count;
    let mut subjects = Vec::new();
    for transport in CONTROL_TRANSPORTS {
        let takes_part = |contender| contender == ContenderName::Ours || transport == TRANSPORT;
        for &contender in contenders.iter().filter(|&&contender| takes_part(contender)) {
            let subject = |&count| plan.subject(contender, transport, CONTROL_SIZE, count);
            let of_plan = plan.stream_counts.iter().map(subject);
            subjects.extend(of_plan.map(|subject| Subject { message_count, ..subject }));
        }
    }
    let samples = take_turns("streams", plan.control_repeat_count, &subjects, Sample::of)?;
    let mut controls: Vec<Control> = Vec::new();
    for (index, (subject, samples)) in subjects.iter().zip(&samples).enumerate() {
        // The fewest streams come first.
        let fewest = controls.get(index - index % plan.stream_counts.len());
        controls.extend(Control::new(subject, samples, fewest));
    }
    Ok(controls)
}

/// A figure of a chart, of ours or of the rival.
type Figure = fn(&Case, usize) -> Option<f64>;

/// Draws the two charts of the source into `directory` and returns their files: messages and megabits per second over the
/// size of a message, with a line for each number of streams. Lines of the rival are dashed.
fn draw(cases: &[Case], plan: &Plan, directory: &Path) -> Result<Vec<String>> {
    let charts: [(&str, &str, Figure); 2] = [
        ("streams-messages.svg", "Millions of messages", Case::megamessages),
        ("streams-megabits.svg", "Megabits", Case::megabits),
    ];
    let draw = |(file, unit, figure): (&str, &str, Figure)| {
        let mut lines = Vec::new();
        for (contender, contender_name) in [(OURS, "hairstreak"), (RIVAL, "libzmq")] {
            for (&count, color) in plan.stream_counts.iter().zip(PALETTE.into_iter().cycle()) {
                // The cases are in the order of their sizes.
                let cases = cases.iter().filter(|case| case.streams == count).enumerate();
                let points = cases.filter_map(|(place, case)| Some((place as f64, figure(case, contender)?)));
                let label = format!("{contender_name}, {count} stream{}", if count == 1 { "" } else { "s" });
                lines.push(Line { label, color, is_dashed: contender == RIVAL, points: points.collect() });
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
