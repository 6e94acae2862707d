//! The charts: rate over size, and rate over time for each size. Each has two kinds, across the transports and into queues.

use anyhow::Result;
use hairstreak_chart::{Axis, Chart, Color, GREY, Line, PALETTE};

use super::figures::{Rate, distinct};
use super::paper::{PAPER_PER_NODE, REFERENCE_PER_NODE};
use super::record::Record;
use super::report::Results;
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

/// Draws mean rates over size as SVG.
pub fn by_size(results: &Results) -> Result<Vec<String>> {
    let chart = |(kind, across): (&str, bool)| {
        let contenders = distinct(results.records.iter().map(|record| record.contender));
        let contenders =
            contenders.into_iter().filter(|contender| (contender.target == Target::Across) == across);
        let line = |(contender, color): (Contender, Color)| {
            let rates = results.plan.rows.iter().map(|row| Rate::of(&results.records, row.size, contender));
            let points = rates.enumerate().filter_map(|(place, rate)| Some((place as f64, rate?.mean)));
            Line::solid(contender.name(), color, points.collect())
        };
        let mut lines: Vec<Line> = contenders.zip(PALETTE.into_iter().cycle()).map(line).collect();
        if !across {
            let last = (results.plan.rows.len().max(2) - 1) as f64;
            let reference = |label: &str, rate: f64, color| {
                Line::dashed(label, color, vec![(0.0, NODE_COUNT * rate), (last, NODE_COUNT * rate)])
            };
            lines.push(reference("43,404 a node (30 nodes)", REFERENCE_PER_NODE, GREY));
            lines.push(reference("60,000 a node (paper)", PAPER_PER_NODE, Color(170, 170, 170)));
        }
        let labels = results.plan.rows.iter().map(|row| row.size.to_string()).collect();
        let (x, y) = (Axis::labels("bytes per message", labels), Axis::log_over("", &lines));
        Ok(Chart { title: format!("Messages/s {kind}"), x, y, lines }.svg()?)
    };
    KINDS.into_iter().map(chart).collect()
}

/// Draws rates over time as SVG, the first run of each contender: two charts for each size.
pub fn over_time(results: &Results) -> Result<Vec<String>> {
    let mut charts = Vec::new();
    for size in results.plan.rows.iter().map(|row| row.size) {
        for (kind, across) in KINDS {
            let records = results.of_size(size).filter(|record| record.run == 1);
            let records = records.filter(|record| (record.contender.target == Target::Across) == across);
            let mut lines: Vec<Line> = records.zip(PALETTE.into_iter().cycle()).map(line_over_time).collect();
            let points = || lines.iter().flat_map(|line| &line.points);
            let end = points().map(|point| point.0).fold(1.0, f64::max);
            let foot = points().map(|point| point.1).fold(1.0, f64::max) / HEIGHT_SHOWN;
            // The axis is logarithmic: a time without messages lies at its foot.
            lines.iter_mut().flat_map(|line| &mut line.points).for_each(|point| point.1 = point.1.max(foot));
            let title = format!("{size} B {kind}: messages/s, mean of {SMOOTHED_COUNT} windows");
            let x = Axis::linear(&format!("windows (of {})", results.windows_of(size)), 0.0, end);
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
