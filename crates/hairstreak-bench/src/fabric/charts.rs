//! The charts of the study, from the rows of its tables.

use std::path::Path;

use anyhow::Result;
use hairstreak_chart::{Axis, BLUE, Chart, Color, GREEN, GREY, LIGHT_BLUE, LIGHT_ORANGE, Line, ORANGE};
use hairstreak_fabric::vortex::LIMIT;
use serde_json::Value as Json;

use crate::frame::{Row, Table};

/// The chart of latencies ends here. Trees near saturation have far longer latencies.
const LATENCY_SHOWN: f64 = 80.0;
/// The networks: the first word of their names in the rows, a label and a colour.
const NETWORKS: [(&str, &str, Color); 3] = [
    ("vortex", "Data Vortex, 4 angles", BLUE),
    ("omega", "omega network, without buffers", ORANGE),
    ("tree", "4-ary tree, with credits", GREEN),
];

/// Draws all charts into a folder. Returns their files.
pub fn draw(tables: &[Table], folder: &Path) -> Result<Vec<String>> {
    let rows = |key: &str| -> Vec<Json> {
        let tables = tables.iter().filter(|table| table.key == key);
        tables.flat_map(|table| &table.rows).map(Row::json).collect()
    };
    let charts = [
        ("fabric-saturation.svg", saturation(&rows("saturation"))),
        ("fabric-scaling.svg", scaling(&rows("scaling"))),
        ("fabric-latency.svg", latency(&rows("loads"))),
    ];
    charts.into_iter().map(|(name, chart)| Ok(chart.draw(&folder.join(name))?)).collect()
}

/// Packets at saturation over heights: simulated and by the equations.
fn saturation(rows: &[Json]) -> Chart {
    let mut lines = Vec::new();
    for (angles, key, label, color, is_dashed) in [
        (1, "equations", "1 angle, equations", BLUE, true),
        (1, "patent", "1 angle, simulated", BLUE, false),
        (1, "flip", "1 angle, bit flipped", LIGHT_BLUE, false),
        (5, "equations", "5 angles, equations", ORANGE, true),
        (5, "patent", "5 angles, simulated", ORANGE, false),
        (5, "flip", "5 angles, bit flipped", LIGHT_ORANGE, false),
    ] {
        let rows = rows.iter().filter(|row| row["angles"] == angles);
        let points = rows.filter_map(|row| Some((row["heights"].as_f64()?.log2(), row[key].as_f64()?)));
        lines.push(Line { label: label.to_owned(), color, is_dashed, points: points.collect() });
    }
    lines.push(Line::dashed("2/9", GREY, vec![(2.0, LIMIT), (8.0, LIMIT)]));
    Chart {
        title: "Data Vortex: packets a port and slot at saturation".to_owned(),
        x: Axis::binary("heights", 2.0, 8.0),
        y: Axis::linear("packets a port and slot", 0.0, 0.5),
        lines,
    }
}

/// Packets at saturation over ports, for the three networks.
fn scaling(rows: &[Json]) -> Chart {
    let lines = NETWORKS.map(|(kind, label, color)| {
        let points = of_kind(rows, kind)
            .filter_map(|(_, row)| Some((row["ports"].as_f64()?.log2(), row["carried"].as_f64()?)));
        Line::solid(label, color, points.collect())
    });
    Chart {
        title: "Packets carried a port and slot at saturation, by size".to_owned(),
        x: Axis::binary("ports", 4.0, 12.0),
        y: Axis::linear("packets a port and slot", 0.0, 0.8),
        lines: lines.into(),
    }
}

/// Latency over load.
fn latency(rows: &[Json]) -> Chart {
    let mut lines = Vec::new();
    for (kind, _, color) in NETWORKS {
        let Some((network, _)) = of_kind(rows, kind).next() else { continue };
        let points = |slots: fn(&Json) -> Option<f64>| {
            let point =
                |(_, row): (&str, &Json)| Some((row["load"].as_f64()?, slots(row)?.min(LATENCY_SHOWN)));
            of_kind(rows, kind).filter_map(point).collect()
        };
        // The sum counts from coming to a port to leaving the network. Packets that an omega network loses do not count.
        let total = points(|row| Some(row["latency"]["mean"].as_f64()? + row["waiting"]["mean"].as_f64()?));
        lines.push(Line::solid(format!("{network}, mean with the wait to enter"), color, total));
        let inside = points(|row| row["latency"]["p99"].as_f64());
        lines.push(Line::dashed(format!("{network}, 99% inside"), color, inside));
    }
    Chart {
        title: "Slots from port to port, by load (256 ports, uniform traffic)".to_owned(),
        x: Axis::linear("packets a port and slot", 0.0, 0.6),
        y: Axis::linear("slots", 0.0, LATENCY_SHOWN),
        lines,
    }
}

/// The rows of a kind of network, with the network's name.
fn of_kind<'a>(rows: &'a [Json], kind: &'a str) -> impl Iterator<Item = (&'a str, &'a Json)> {
    let named = rows.iter().filter_map(|row| Some((row["network"].as_str()?, row)));
    named.filter(move |(network, _)| network.starts_with(kind))
}
