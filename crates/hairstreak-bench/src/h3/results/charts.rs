//! The charts: rate over size, and rate over time for each size. Each has two kinds, across the transports and into queues.

use anyhow::Result;
use hairstreak_chart::{Axis, Chart, Color, GREY, Line, PALETTE};

use super::figures::{Rate, distinct};
use super::paper::{PAPER_PER_NODE, REFERENCE_PER_NODE};
use super::record::Record;
use super::report::Report;
use crate::h3::contender::{Contender, Target};

/// The most points of a line over time: a longer run shows every n-th point.
const POINTS_MAX: usize = 400;
/// The number of neighbouring windows whose mean is a point over time.
const SMOOTHED_COUNT: usize = 9;
/// The highest rate of a chart over time, in times of the lowest one that is shown.
const HEIGHT_SHOWN: f64 = 1e4;
/// The lines of the paper are rates of one node, the chart's of both.
const NODE_COUNT: f64 = 2.0;
const KINDS: [(&str, bool); 2] = [("across the transport", true), ("into queues", false)];

fn is_across(contender: Contender) -> bool {
    contender.target == Target::Across
}

fn colors() -> impl Iterator<Item = Color> {
    PALETTE.into_iter().cycle()
}

/// Draws mean rates over size as SVG.
pub fn by_size(report: &Report) -> Result<Vec<String>> {
    let chart = |(kind, across): (&str, bool)| {
        let contenders = distinct(report.records.iter().map(|record| record.contender));
        let contenders = contenders.into_iter().filter(|&contender| is_across(contender) == across);
        let line = |(contender, color): (Contender, Color)| {
            let rates = report.plan.rows.iter().map(|row| Rate::of(&report.records, row.size, contender));
            let points = rates.enumerate().filter_map(|(place, rate)| Some((place as f64, rate?.mean)));
            Line::solid(contender.name(), color, points.collect())
        };
        let mut lines: Vec<Line> = contenders.zip(colors()).map(line).collect();
        if !across {
            let last = (report.plan.rows.len().max(2) - 1) as f64;
            let reference = |label: &str, rate: f64, color| {
                Line::dashed(label, color, vec![(0.0, NODE_COUNT * rate), (last, NODE_COUNT * rate)])
            };
            lines.push(reference("43,404 a node (30 nodes)", REFERENCE_PER_NODE, GREY));
            lines.push(reference("60,000 a node (paper)", PAPER_PER_NODE, Color(170, 170, 170)));
        }
        let labels = report.plan.rows.iter().map(|row| row.size.to_string()).collect();
        let (x, y) = (Axis::labels("bytes per message", labels), Axis::log_over("", &lines));
        Ok(Chart { title: format!("Messages/s {kind}"), x, y, lines }.svg()?)
    };
    KINDS.into_iter().map(chart).collect()
}

/// Draws rates over time as SVG, the first run of each contender: two charts for each size.
pub fn over_time(report: &Report) -> Result<Vec<String>> {
    let mut charts = Vec::new();
    for size in report.plan.rows.iter().map(|row| row.size) {
        for (kind, across) in KINDS {
            let records = report.of_size(size).filter(|record| record.run == 1);
            let records = records.filter(|record| is_across(record.contender) == across).zip(colors());
            let mut lines: Vec<Line> = records.map(line_over_time).collect();
            let points = || lines.iter().flat_map(|line| &line.points);
            let end = points().map(|point| point.0).fold(1.0, f64::max);
            let foot = points().map(|point| point.1).fold(1.0, f64::max) / HEIGHT_SHOWN;
            // The axis is logarithmic: a time without messages lies at its foot.
            lines.iter_mut().flat_map(|line| &mut line.points).for_each(|point| point.1 = point.1.max(foot));
            let title = format!("{size} B {kind}: messages/s, mean of {SMOOTHED_COUNT} windows");
            let x = Axis::linear(&format!("windows (of {})", report.windows_of(size)), 0.0, end);
            let chart = Chart { title, x, y: Axis::log_over("", &lines), lines };
            if !chart.lines.is_empty() {
                charts.push(chart.svg()?);
            }
        }
    }
    Ok(charts)
}

fn line_over_time((record, color): (&Record, Color)) -> Line {
    let means = record.samples.windows(SMOOTHED_COUNT.min(record.samples.len()));
    let means = means.map(|samples| samples.iter().sum::<f64>() / samples.len() as f64);
    let step = means.len().div_ceil(POINTS_MAX).max(1);
    let points = means.enumerate().step_by(step).map(|(index, mean)| (index as f64, mean));
    Line::solid(record.contender.name(), color, points.collect())
}
