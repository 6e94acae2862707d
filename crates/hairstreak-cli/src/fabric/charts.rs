//! The charts of the study.

use std::path::Path;

use hairstreak_chart::{
    Axis, BLUE, Chart, ChartError, Color, GREEN, GREY, LIGHT_BLUE, LIGHT_ORANGE, Line, ORANGE,
};
use hairstreak_fabric::vortex::LIMIT;

use super::experiments::Study;
use super::network::NetworkKind;

/// The chart of latencies ends here. Trees near saturation have far longer latencies.
const LATENCY_SHOWN: f64 = 80.0;

/// Draws all charts into a folder. Returns their files.
pub fn draw(study: &Study, folder: &Path) -> Result<Vec<String>, ChartError> {
    let charts = [
        ("fabric-saturation.svg", saturation(study)),
        ("fabric-scaling.svg", scaling(study)),
        ("fabric-latency.svg", latency(study)),
    ];
    charts.into_iter().map(|(name, chart)| chart.draw(&folder.join(name))).collect()
}

/// Packets at saturation over heights: simulated and by the equations.
fn saturation(study: &Study) -> Chart {
    let mut lines = Vec::new();
    for (angles, color, light) in [(1, BLUE, LIGHT_BLUE), (5, ORANGE, LIGHT_ORANGE)] {
        let rows = || study.saturation.iter().filter(move |row| row.angles == angles);
        let place = |heights: u32| f64::from(heights).log2();
        let plural = if angles == 1 { "angle" } else { "angles" };
        lines.extend([
            line(
                &format!("{angles} {plural}, equations"),
                color,
                true,
                rows().map(|row| (place(row.heights), row.equations)),
            ),
            line(
                &format!("{angles} {plural}, simulated"),
                color,
                false,
                rows().map(|row| (place(row.heights), row.patent)),
            ),
            line(
                &format!("{angles} {plural}, bit flipped"),
                light,
                false,
                rows().map(|row| (place(row.heights), row.flip)),
            ),
        ]);
    }
    lines.push(line("2/9", GREY, true, [(2.0, LIMIT), (8.0, LIMIT)].into_iter()));
    Chart {
        title: "Data Vortex: packets a port and slot at saturation".to_owned(),
        x: Axis::binary("heights", 2.0, 8.0),
        y: Axis::linear("packets a port and slot", 0.0, 0.5),
        lines,
    }
}

/// A label, a colour, and which networks they are for.
type Kind = (&'static str, Color, fn(NetworkKind) -> bool);

/// Packets at saturation over ports, for the three networks.
fn scaling(study: &Study) -> Chart {
    let kinds: [Kind; 3] = [
        ("Data Vortex, 4 angles", BLUE, |kind| matches!(kind, NetworkKind::Vortex { .. })),
        ("omega network, without buffers", ORANGE, |kind| matches!(kind, NetworkKind::Omega { .. })),
        ("4-ary tree, with credits", GREEN, |kind| matches!(kind, NetworkKind::Tree { .. })),
    ];
    let lines = kinds.map(|(label, color, is_of)| {
        let rows = study.scaling.iter().filter(|row| is_of(row.network));
        line(label, color, false, rows.map(|row| (f64::from(row.ports).log2(), row.carried)))
    });
    Chart {
        title: "Packets carried a port and slot at saturation, by size".to_owned(),
        x: Axis::binary("ports", 4.0, 12.0),
        y: Axis::linear("packets a port and slot", 0.0, 0.8),
        lines: lines.into(),
    }
}

/// Latency over load.
fn latency(study: &Study) -> Chart {
    let mut lines = Vec::new();
    let networks: Vec<NetworkKind> = study.loads.iter().map(|row| row.network).collect();
    for (network, color) in
        networks.chunk_by(|one, next| one == next).map(|kind| kind[0]).zip([BLUE, ORANGE, GREEN])
    {
        let rows = || study.loads.iter().filter(move |row| row.network == network);
        // The sum counts from coming to a port to leaving the network. Packets that an omega network loses do not count.
        let total = |mean: f64| mean.min(LATENCY_SHOWN);
        lines.push(line(
            &format!("{network}, mean with the wait to enter"),
            color,
            false,
            rows().map(|row| (row.load, total(row.latency.mean + row.waiting.mean))),
        ));
        lines.push(line(
            &format!("{network}, 99% inside"),
            color,
            true,
            rows().map(|row| (row.load, total(row.latency.p99 as f64))),
        ));
    }
    Chart {
        title: "Slots from port to port, by load (256 ports, uniform traffic)".to_owned(),
        x: Axis::linear("packets a port and slot", 0.0, 0.6),
        y: Axis::linear("slots", 0.0, LATENCY_SHOWN),
        lines,
    }
}

fn line(label: &str, color: Color, is_dashed: bool, points: impl Iterator<Item = (f64, f64)>) -> Line {
    Line { label: label.to_owned(), color, is_dashed, points: points.collect() }
}
