//! The study: its options, and a table for each question. Each row of a table is a job of its own.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args;
use hairstreak_fabric::measure::{Figures, Span};
use hairstreak_fabric::omega;
use hairstreak_fabric::traffic::{Arrivals, Pattern, Traffic};
use hairstreak_fabric::vortex::{MeanField, Permutation, Shape};
use serde_json::json;

use super::charts::draw;
use super::jobs::run_all;
use super::network::NetworkKind;
use crate::frame::{Report, Row, Setting, Table, Value, number_in};

/// Slots before anything counts.
const WARM_UP: u64 = 500;
/// Slots that count, times ports. With this number, the results of two seeds differ by a few tenths of a per cent.
const PORT_SLOTS: u64 = 1 << 20;
/// Slots that count where networks of several sizes are compared. Trees take long to fill.
const SCALING_SLOTS: u64 = 4_000;
/// The least number of slots that count, however short the study is.
const SLOTS_MIN: u64 = 20;
/// Ports of the networks whose latency and traffic are compared.
const PORTS: u32 = 256;
/// The load of the published figures for traffic within one angle.
const HALF: f64 = 0.5;
/// The load under which kinds of traffic are compared.
const PATTERN_LOAD: f64 = 0.1;

/// The options of `hairstreak-bench fabric`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// The folder of the charts, which is made if there is none [default: no charts]
    #[arg(long, value_name = "FOLDER")]
    pub charts: Option<PathBuf>,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Simulate this part of the slots: quicker, and less exact
    #[arg(long, value_name = "PART", default_value_t = 1.0, value_parser = number_in(0.001..=1000.0))]
    pub scale: f64,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Runs the study, draws its charts and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    if let Some(folder) = &settings.charts {
        // Fails before the long work.
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let begin = Instant::now();
    let tables = vec![
        settings.run_table(),
        settings.saturation(),
        settings.one_angle(),
        settings.scaling(),
        settings.loads(),
        settings.patterns(),
        settings.lanes(),
    ];
    let Settings { charts, json, .. } = settings;
    let report = Report {
        study: "fabric",
        setting: Setting::new(Vec::new(), Vec::new()),
        about: format!("{:.1} s on {} threads", begin.elapsed().as_secs_f64(), settings.thread_count()),
        charts: charts.as_ref().map_or(Ok(Vec::new()), |folder| draw(&tables, folder))?,
        tables,
        conclusion: Vec::new(),
    };
    report.print(*json)
}

impl Settings {
    fn thread_count(&self) -> usize {
        self.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get)
    }

    fn run_table(&self) -> Table {
        let row = Row::default().show("seed", "seed", Value::count(self.seed)).show(
            "scale",
            "scale",
            Value::figure(self.scale, |scale| scale.to_string()),
        );
        Table { key: "run", title: "The run", rows: vec![row], legend: "" }
    }

    fn table<C: Sync>(
        &self,
        key: &'static str,
        title: &'static str,
        cases: &[C],
        row: impl Fn(&C) -> Option<Row> + Sync,
    ) -> Table {
        let rows = run_all(key, cases, self.thread_count(), row).into_iter().flatten().collect();
        Table { key, title, rows, legend: "" }
    }

    /// The slots in which all ports together have `port_slots`.
    fn span(&self, port_slots: u64, ports: u32) -> Span {
        self.slots(WARM_UP, port_slots / u64::from(ports))
    }

    fn slots(&self, warm_up: u64, slots: u64) -> Span {
        let scaled = |slots: u64| ((slots as f64 * self.scale) as u64).max(SLOTS_MIN);
        Span { follows_order: false, ..Span::new(scaled(warm_up), scaled(slots)) }
    }

    /// The figures of a network whose ports always have a packet to send, to any port.
    fn saturate(&self, network: NetworkKind, ports: u32, span: Span) -> Option<Figures> {
        let traffic = Traffic::uniform(ports, Arrivals::Always);
        Some(network.measure(&traffic, span, self.seed)?.0)
    }

    fn saturation(&self) -> Table {
        let title = "\
Packets a port and slot at saturation, uniform traffic. Simulated: the patent's permutation, and the one that flips a bit. The
equations have the limit 2/9 = 0.2222 for up to four angles and heights without end; deflections that depend on each other keep a
switch below them.";
        let shapes = shapes(&[4, 8, 16, 32, 64, 128, 256], &[1, 2, 3, 4, 5, 6, 8]);
        self.table("saturation", title, &shapes, |&shape| {
            let carried = |permutation| {
                let (network, ports) = (NetworkKind::Vortices(shape, permutation, 1), shape.port_count());
                Some(self.saturate(network, ports, self.span(PORT_SLOTS, ports))?.accepted_per_port())
            };
            let (patent, flip) = (carried(Permutation::Patent)?, carried(Permutation::Flip)?);
            let equations = MeanField::saturated(shape).accepted;
            let difference =
                |carried| Value::figure(carried / equations - 1.0, |part| format!("{:+.1}%", 100.0 * part));
            let row = shape_row(shape)
                .show("patent", "patent", packets(patent))
                .show("flip", "flip", packets(flip))
                .show("equations", "equations", packets(equations))
                .show("patent_difference", "patent", difference(patent))
                .show("flip_difference", "flip", difference(flip));
            Some(row)
        })
    }

    fn one_angle(&self) -> Table {
        let title = "\
Packets accepted at half load, where all enter and leave at one angle and are lost if they find no room. Published: more than
99% with five routing angles for one, no gain above six (Hawkins and Wills, 2006); twice an unbuffered omega network of as many ports
(Hawkins, Small, Wills and Bergman, 2007).";
        self.table("one_angle", title, &shapes(&[16, 64, 256], &[4, 5, 6, 7, 8]), |&shape| {
            let network = NetworkKind::Vortices(shape, Permutation::Patent, 1);
            let traffic = Traffic::uniform(shape.heights(), Arrivals::Independent { load: HALF });
            let span = Span { waiting_max: 0, ..self.span(PORT_SLOTS, shape.heights()) };
            let (figures, _) = network.measure(&traffic, span, self.seed)?;
            let accepted = 1.0 - figures.refused as f64 / figures.offered as f64;
            // Patel's equation.
            let omega = omega::accepted(shape.heights(), HALF) / HALF;
            let row = shape_row(shape)
                .show("accepted", "accepted", percent(accepted))
                .show("omega", "omega", percent(omega))
                .show("ratio", "ratio", Value::ratio(accepted / omega));
            Some(row)
        })
    }

    fn scaling(&self) -> Table {
        let title = "\
Packets carried a port and slot at saturation, uniform traffic, and how far ports differ: the standard deviation of their packets,
beside that of ports that take packets by chance. An omega network loses the others, a tree (64 packets of room at each input) and a
Data Vortex keep them waiting.";
        let cases = [16, 64, 256, 1024, 4096].into_iter();
        let cases = cases.flat_map(|ports| NetworkKind::all(ports).map(move |network| (ports, network)));
        self.table("scaling", title, &cases.collect::<Vec<_>>(), |&(ports, network)| {
            let figures = self.saturate(network, ports, self.slots(SCALING_SLOTS / 2, SCALING_SLOTS))?;
            let accepted = figures.accepted_per_port();
            let chance = ((1.0 - accepted) / (accepted * figures.slots as f64)).sqrt();
            let row = Row::default()
                .show("ports", "ports", Value::count(ports))
                .show("network", "network", Value::text(network.to_string()))
                .show("carried", "carried", packets(figures.arrived_per_port()))
                .show("deviation", "deviation", percent(figures.deviation()))
                .show("chance", "by chance", percent(chance));
            Some(row)
        })
    }

    /// The figures of a network of [`PORTS`] ports, the order of packets among them.
    fn follow(&self, network: NetworkKind, traffic: &Traffic) -> Option<(Figures, Option<f64>)> {
        let span = Span { follows_order: true, ..self.span(PORT_SLOTS, PORTS) };
        network.measure(traffic, span, self.seed)
    }

    fn loads(&self) -> Table {
        let title = "\
Uniform traffic by load, in slots, means and 99%: from entering to leaving, waiting to enter, and waiting for earlier packets of the flow.";
        let mut cases = Vec::new();
        for network in NetworkKind::all(PORTS) {
            let loads: &[f64] = match network {
                NetworkKind::Vortices(..) => &[0.02, 0.05, 0.08, 0.11, 0.14, 0.16, 0.18, 0.2, 0.22],
                _ => &[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6],
            };
            cases.extend(loads.iter().map(|&load| (network, load)));
        }
        self.table("loads", title, &cases, |&(network, load)| {
            let traffic = Traffic::uniform(PORTS, Arrivals::Independent { load });
            let (figures, deflections) = self.follow(network, &traffic)?;
            let two_digits = |value: f64| format!("{value:.2}");
            let row = Row::default()
                .show("network", "network", Value::text(network.to_string()))
                .show("load", "load", Value::figure(load, two_digits))
                .show("carried", "carried", packets(figures.arrived_per_port()))
                .show("deflections", "deflections", Value::figure(deflections, two_digits));
            Some(show_times(row, &figures))
        })
    }

    fn patterns(&self) -> Table {
        let title = "\
Traffic of other kinds, a tenth of a packet a port and slot: what is carried, the ports that send least and most, and slots.";
        let even = Arrivals::Independent { load: PATTERN_LOAD };
        // A permutation: each port sends to the one across, and all low ports into one half.
        let across = (0..PORTS).map(|from| (from + PORTS / 2 + 1) % PORTS).collect();
        let kinds = [
            ("uniform", Pattern::Uniform, even),
            ("permutation", Pattern::Permutation(across), even),
            ("bursts of 16", Pattern::Uniform, Arrivals::Bursts { load: PATTERN_LOAD, length: 16.0 }),
            ("2% to one port", Pattern::HotSpot { port: 3, share: 0.02 }, even),
            ("10% to one port", Pattern::HotSpot { port: 3, share: 0.1 }, even),
        ]
        .map(|(name, pattern, arrivals)| (name, Traffic { pattern, arrivals, ports: 0..PORTS }));
        let cases = NetworkKind::all(PORTS).flat_map(|network| kinds.each_ref().map(|kind| (network, kind)));
        self.table("patterns", title, &cases.collect::<Vec<_>>(), |&(network, (name, traffic))| {
            let (figures, _) = self.follow(network, traffic)?;
            let (least, most) = figures.spread();
            let row = Row::default()
                .show("network", "network", Value::text(network.to_string()))
                .show("traffic", "traffic", Value::text(*name))
                .show("carried", "carried", packets(figures.arrived_per_port()))
                .show("least", "least", percent(least))
                .show("most", "most", percent(most));
            Some(show_times(row, &figures))
        })
    }

    fn lanes(&self) -> Table {
        let title = "Data Vortices side by side, 256 ports, saturated: packets a port and slot, as a part of as many single ones.";
        let carried = |count| {
            let (network, span) = (NetworkKind::vortices(PORTS, count)?, self.span(PORT_SLOTS / 4, PORTS));
            Some(self.saturate(network, PORTS, span)?.accepted_per_port())
        };
        let single = carried(1);
        self.table("lanes", title, &[1, 2, 4, 8, 16], |&count| {
            let carried = carried(count)?;
            let row = Row::default()
                .show("count", "count", Value::count(count))
                .show("carried", "carried", packets(carried))
                .show("efficiency", "efficiency", percent(carried / (f64::from(count) * single?)));
            Some(row)
        })
    }
}

fn shapes(heights: &[u32], angles: &[u32]) -> Vec<Shape> {
    let shapes = |&angles: &u32| heights.iter().filter_map(move |&heights| Shape::new(heights, angles).ok());
    angles.iter().flat_map(shapes).collect()
}

fn shape_row(shape: Shape) -> Row {
    let row = Row::default().show("heights", "heights", Value::count(shape.heights()));
    row.show("angles", "angles", Value::count(shape.angles()))
}

/// Adds latency, waiting to enter and waiting for earlier packets, in slots.
fn show_times(row: Row, figures: &Figures) -> Row {
    let times = [
        ("latency", "latency (99%)", &figures.latency),
        ("waiting", "entry (99%)", &figures.waiting),
        ("resequencing", "order (99%)", &figures.resequencing),
    ];
    times.into_iter().fold(row, |row, (key, heading, times)| {
        let mean = times.mean();
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| times.percentile(share));
        let json = json!({"mean": mean, "p50": p50, "p99": p99, "max": max});
        row.show(key, heading, Value::other(json, format!("{mean:.1} ({p99})")))
    })
}

fn packets(rate: f64) -> Value {
    Value::figure(rate, |rate| format!("{rate:.4}"))
}

fn percent(part: f64) -> Value {
    Value::figure(part, |part| format!("{:.1}%", 100.0 * part))
}
