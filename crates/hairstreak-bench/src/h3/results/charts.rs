//! The charts: rate over size, and rate over time for each size.

use hairstreak_chart::{Axis, Chart, ChartError, Color, GREY, Line, PALETTE};

use super::paper::{PAPER_PER_NODE, REFERENCE_PER_NODE};
use super::record::{Record, contender_name};
use super::report::Report;
use super::sections::windows_of;
use crate::h3::contender::{Target, Transport};

/// Points of a line over time: of a longer run only every so many are shown.
const POINTS_MAX: usize = 400;
/// A point over time is the mean of so many neighbouring windows.
const SMOOTHED_COUNT: usize = 9;
/// The highest rate of a chart over time, in times of the lowest one that is shown.
const HEIGHT_SHOWN: f64 = 1e4;
/// The lines of the paper are rates of one node, the chart's of both.
const NODE_COUNT: f64 = 2.0;

const QUEUES: [Target; 3] = [Target::Hairstreak, Target::Rabbitmq, Target::RabbitmqLoopback];

/// Rate over size: across the transports, and into queues.
pub fn by_size(report: &Report) -> Result<Vec<String>, ChartError> {
    let across: Vec<(Transport, Target)> =
        report.transports().into_iter().map(|transport| (transport, Target::Across)).collect();
    let queues: Vec<(Transport, Target)> = report
        .transports()
        .into_iter()
        .flat_map(|transport| QUEUES.map(|target| (transport, target)))
        .collect();
    let last = (report.sizes.len().max(2) - 1) as f64;
    let reference = |label: &str, rate: f64, color| {
        Line::dashed(label, color, vec![(0.0, NODE_COUNT * rate), (last, NODE_COUNT * rate)])
    };
    let references = vec![
        reference("43,404 a node (30 nodes)", REFERENCE_PER_NODE, GREY),
        reference("60,000 a node (paper)", PAPER_PER_NODE, Color(170, 170, 170)),
    ];
    let charts = [
        ("Messages/s across the transport", across, Vec::new()),
        ("Messages/s into queues", queues, references),
    ];
    let chart = |(title, contenders, references): (&str, Vec<(Transport, Target)>, Vec<Line>)| {
        let mut lines = lines_by_size(report, &contenders);
        lines.extend(references);
        let labels = report.sizes.iter().map(|size| size.size.to_string()).collect();
        let (x, y) = (Axis::labels("bytes per message", labels), Axis::log_over("", &lines));
        Chart { title: title.to_owned(), x, y, lines }.svg()
    };
    charts.into_iter().map(chart).collect()
}

fn lines_by_size(report: &Report, contenders: &[(Transport, Target)]) -> Vec<Line> {
    let colors = PALETTE.into_iter().cycle();
    let line = |(&(transport, target), color)| {
        let points = report.sizes.iter().enumerate().filter_map(|(place, size)| {
            let means: Vec<f64> = report
                .of_size(size.size)
                .filter(|record| (record.transport, record.target) == (transport, target))
                .map(|record| record.statistics.mean)
                .collect();
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            (!means.is_empty()).then_some((place as f64, mean))
        });
        Line::solid(contender_name(transport, target), color, points.collect())
    };
    contenders.iter().zip(colors).map(line).collect()
}

/// Rate over time, the first run of each contender: for each size a chart across the transports, and a chart into queues.
pub fn over_time(report: &Report) -> Result<Vec<String>, ChartError> {
    let mut charts = Vec::new();
    for size in &report.sizes {
        for (title, is_across) in [("across the transport", true), ("into queues", false)] {
            let is_shown =
                |record: &&Record| record.run == 1 && (record.target == Target::Across) == is_across;
            let colors = PALETTE.into_iter().cycle();
            let records = report.of_size(size.size).filter(is_shown).zip(colors);
            let lines: Vec<Line> = records.map(|(record, color)| line_over_time(record, color)).collect();
            if !lines.is_empty() {
                charts.push(chart_over_time(report, size.size, title, lines).svg()?);
            }
        }
    }
    Ok(charts)
}

fn chart_over_time(report: &Report, size: usize, title: &str, mut lines: Vec<Line>) -> Chart {
    let points = || lines.iter().flat_map(|line| &line.points);
    let end = points().map(|point| point.0).fold(1.0, f64::max);
    let foot = points().map(|point| point.1).fold(1.0, f64::max) / HEIGHT_SHOWN;
    // The axis is logarithmic: a time without messages lies at its foot.
    lines.iter_mut().flat_map(|line| &mut line.points).for_each(|point| point.1 = point.1.max(foot));
    let title = format!("{size} B {title}: messages/s, mean of {SMOOTHED_COUNT} windows");
    let x = Axis::linear(&format!("windows (of {})", windows_of(report, size)), 0.0, end);
    Chart { title, x, y: Axis::log_over("", &lines), lines }
}

fn line_over_time(record: &Record, color: Color) -> Line {
    let means = record.samples.windows(SMOOTHED_COUNT.min(record.samples.len()));
    let means: Vec<f64> = means.map(|samples| samples.iter().sum::<f64>() / samples.len() as f64).collect();
    let step = means.len().div_ceil(POINTS_MAX).max(1);
    let points = means.iter().enumerate().step_by(step).map(|(index, &mean)| (index as f64, mean));
    Line::solid(record.contender(), color, points.collect())
}
