//! The two charts of the source: messages and megabits per second over the size of a message, a line per number of
//! streams. Ours are solid, the rival's dashed.

use std::path::Path;

use hairstreak_chart::{Axis, Chart, ChartError, Line, PALETTE};

use super::report::Case;

/// What a chart shows of a row: ours, and the rival's if it was there.
type Value = fn(&Case) -> (f64, Option<f64>);

/// Draws both charts into `directory` and gives their files.
pub fn draw(cases: &[Case], directory: &Path) -> Result<Vec<String>, ChartError> {
    let messages: Value = |case| (case.rates.ours / 1e6, case.rates.rival.map(|rate| rate / 1e6));
    let megabits: Value = |case| (case.ours_mbit, case.rival_mbit);
    let charts = [
        ("streams-messages.svg", "Millions of messages per second, all streams together", messages),
        ("streams-megabits.svg", "Megabits per second, all streams together", megabits),
    ];
    let mut sizes: Vec<usize> = cases.iter().map(|case| case.size).collect();
    sizes.dedup();
    let draw = |(name, title, value): (&str, &str, Value)| {
        let lines = lines(cases, &sizes, value);
        // A label per size: the axis counts them, since they double from one to the next.
        let x = Axis::labels("bytes per message", sizes.iter().map(ToString::to_string).collect());
        let chart = Chart { title: title.to_owned(), x, y: Axis::over("", &lines), lines };
        chart.draw(&directory.join(name))
    };
    charts.into_iter().map(draw).collect()
}

fn lines(cases: &[Case], sizes: &[usize], value: Value) -> Vec<Line> {
    let mut counts: Vec<usize> = cases.iter().map(|case| case.streams).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut lines = Vec::new();
    for is_rival in [false, true] {
        for (&count, color) in counts.iter().zip(PALETTE.into_iter().cycle()) {
            let points = cases.iter().filter(|case| case.streams == count).filter_map(|case| {
                let position = sizes.iter().position(|&size| size == case.size)?;
                let (ours, rival) = value(case);
                Some((position as f64, if is_rival { rival? } else { ours }))
            });
            let whose = if is_rival { "libzmq" } else { "hairstreak" };
            let plural = if count == 1 { "" } else { "s" };
            let label = format!("{whose}, {count} stream{plural}");
            lines.push(Line { label, color, is_dashed: is_rival, points: points.collect() });
        }
    }
    lines
}
