//! The measurements of the study: each question has a list of cases, and each case gives a row.

use hairstreak_fabric::measure::{Distribution, Span};
use hairstreak_fabric::omega;
use hairstreak_fabric::traffic::{Arrivals, Pattern, Traffic};
use hairstreak_fabric::vortex::{MeanField, Permutation, Shape};
use serde::Serialize;

use super::jobs::run_all;
use super::network::{ANGLES, NetworkKind, Outcome};

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
const HEIGHTS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
/// The load of the published figures for traffic within one angle.
const HALF: f64 = 0.5;

/// All answers.
#[derive(Debug, Serialize)]
pub struct Study {
    pub seed: u64,
    pub saturation: Vec<SaturationRow>,
    pub one_angle: Vec<OneAngleRow>,
    pub scaling: Vec<ScalingRow>,
    pub loads: Vec<LoadRow>,
    pub patterns: Vec<PatternRow>,
    pub lanes: Vec<LanesRow>,
}

/// Saturation: all ports always have a packet to send, to any port.
#[derive(Clone, Debug, Serialize)]
pub struct SaturationRow {
    pub heights: u32,
    pub angles: u32,
    /// Packets a port and slot: with the patent's permutation, with the one that flips a bit, and by the equations.
    pub patent: f64,
    pub flip: f64,
    pub equations: f64,
}

/// Packets enter and leave at one angle, at half load. A packet that finds no room is lost.
#[derive(Clone, Debug, Serialize)]
pub struct OneAngleRow {
    pub heights: u32,
    pub angles: u32,
    /// The part of the packets that is accepted, here and by an omega network of as many ports (Patel's equation).
    pub accepted: f64,
    pub omega: f64,
}

/// A network of some size at saturation: all ports always have a packet to send, to any port.
#[derive(Clone, Debug, Serialize)]
pub struct ScalingRow {
    pub ports: u32,
    pub network: NetworkKind,
    /// Packets that leave, a port and slot.
    pub carried: f64,
    /// The standard deviation of the ports' packets, as a part of the average, and the one that chance alone would give.
    pub deviation: f64,
    pub chance: f64,
}

/// Uniform traffic at some load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadRow {
    pub network: NetworkKind,
    pub load: f64,
    pub carried: f64,
    pub deflections: Option<f64>,
    pub latency: Times,
    pub waiting: Times,
    pub resequencing: Times,
}

/// Traffic of another kind.
#[derive(Clone, Debug, Serialize)]
pub struct PatternRow {
    pub network: NetworkKind,
    pub traffic: &'static str,
    pub carried: f64,
    pub least: f64,
    pub most: f64,
    pub latency: Times,
    pub waiting: Times,
    pub resequencing: Times,
}

/// Networks side by side, saturated.
#[derive(Clone, Debug, Serialize)]
pub struct LanesRow {
    pub count: u32,
    pub carried: f64,
    /// `carried` as a share of the load that `count` separate networks carry.
    pub efficiency: f64,
}

/// Times in slots.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    pub mean: f64,
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

/// The seed, the threads and the scale of the study.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub seed: u64,
    pub threads: usize,
    /// The part of the slots that is simulated.
    pub scale: f64,
}

/// A case: the begin of its row, and the network with its traffic.
struct Case<K> {
    key: K,
    network: NetworkKind,
    traffic: Traffic,
    span: Span,
}

impl Study {
    pub fn run(effort: Effort) -> Study {
        Study {
            seed: effort.seed,
            saturation: effort.saturation(),
            one_angle: effort.one_angle(),
            scaling: effort.scaling(),
            loads: effort.loads(),
            patterns: effort.patterns(),
            lanes: effort.lanes(),
        }
    }
}

impl Effort {
    fn run<K: Sync, R: Send>(&self, cases: &[Case<K>], row: impl Fn(&K, Outcome) -> R + Sync) -> Vec<R> {
        let rows = run_all(cases, self.threads, |case| {
            let outcome = case.network.measure(&case.traffic, case.span, self.seed)?;
            Some(row(&case.key, outcome))
        });
        rows.into_iter().flatten().collect()
    }

    /// The slots in which all ports together have `port_slots`.
    fn span(&self, port_slots: u64, ports: u32) -> Span {
        self.slots(WARM_UP, port_slots / u64::from(ports))
    }

    fn slots(&self, warm_up: u64, slots: u64) -> Span {
        let scaled = |slots: u64| ((slots as f64 * self.scale) as u64).max(SLOTS_MIN);
        Span { follows_order: false, ..Span::new(scaled(warm_up), scaled(slots)) }
    }

    fn saturation(&self) -> Vec<SaturationRow> {
        let mut cases = Vec::new();
        for shape in shapes(HEIGHTS, [1, 2, 3, 4, 5, 6, 8]) {
            let (ports, key) = (shape.port_count(), (shape, Permutation::Patent));
            let traffic = Traffic::uniform(ports, Arrivals::Always);
            let case = |permutation| Case {
                key: (shape, permutation),
                network: NetworkKind::Vortex { shape, permutation },
                traffic: traffic.clone(),
                span: self.span(PORT_SLOTS, ports),
            };
            cases.extend([case(key.1), case(Permutation::Flip)]);
        }
        let found = self.run(&cases, |key, outcome| (key.0, outcome.figures.accepted_per_port()));
        let row = |pair: &[(Shape, f64)]| {
            let [(shape, patent), (_, flip)] = *pair else { return None };
            let equations = MeanField::saturated(shape).accepted;
            Some(SaturationRow { heights: shape.heights(), angles: shape.angles(), patent, flip, equations })
        };
        found.chunks(2).filter_map(row).collect()
    }

    fn one_angle(&self) -> Vec<OneAngleRow> {
        let case = |shape: Shape| Case {
            key: shape,
            network: NetworkKind::Vortex { shape, permutation: Permutation::Patent },
            traffic: Traffic::uniform(shape.heights(), Arrivals::Independent { load: HALF }),
            span: Span { waiting_max: 0, ..self.span(PORT_SLOTS, shape.heights()) },
        };
        let cases: Vec<_> = shapes([16, 64, 256], [4, 5, 6, 7, 8]).map(case).collect();
        self.run(&cases, |shape, Outcome { figures, .. }| OneAngleRow {
            heights: shape.heights(),
            angles: shape.angles(),
            accepted: 1.0 - figures.refused as f64 / figures.offered as f64,
            omega: omega::accepted(shape.heights(), HALF) / HALF,
        })
    }

    fn scaling(&self) -> Vec<ScalingRow> {
        let mut cases = Vec::new();
        for ports in [16, 64, 256, 1024, 4096] {
            cases.extend(NetworkKind::all(ports).into_iter().map(|network| Case {
                key: network,
                network,
                traffic: Traffic::uniform(ports, Arrivals::Always),
                span: self.slots(SCALING_SLOTS / 2, SCALING_SLOTS),
            }));
        }
        self.run(&cases, |network, Outcome { figures, .. }| {
            let accepted = figures.accepted_per_port();
            ScalingRow {
                ports: network.port_count(),
                network: *network,
                carried: figures.arrived_per_port(),
                deviation: figures.deviation(),
                chance: ((1.0 - accepted) / (accepted * figures.slots as f64)).sqrt(),
            }
        })
    }

    fn loads(&self) -> Vec<LoadRow> {
        let mut cases = Vec::new();
        for network in NetworkKind::all(PORTS) {
            let loads: &[f64] = match network {
                NetworkKind::Vortex { .. } => &[0.02, 0.05, 0.08, 0.11, 0.14, 0.16, 0.18, 0.2, 0.22],
                _ => &[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6],
            };
            cases.extend(loads.iter().map(|&load| Case {
                key: (network, load),
                network,
                traffic: Traffic::uniform(PORTS, Arrivals::Independent { load }),
                span: Span { follows_order: true, ..self.span(PORT_SLOTS, PORTS) },
            }));
        }
        self.run(&cases, |&(network, load), Outcome { figures, deflections }| LoadRow {
            network,
            load,
            carried: figures.arrived_per_port(),
            deflections,
            latency: Times::of(&figures.latency),
            waiting: Times::of(&figures.waiting),
            resequencing: Times::of(&figures.resequencing),
        })
    }

    fn patterns(&self) -> Vec<PatternRow> {
        const LOAD: f64 = 0.1;
        let even = Arrivals::Independent { load: LOAD };
        // A permutation: each port sends to the one across, and all low ports into one half.
        let across = (0..PORTS).map(|from| (from + PORTS / 2 + 1) % PORTS).collect();
        let kinds = [
            ("uniform", Pattern::Uniform, even),
            ("permutation", Pattern::Permutation(across), even),
            ("bursts of 16", Pattern::Uniform, Arrivals::Bursts { load: LOAD, length: 16.0 }),
            ("2% to one port", Pattern::HotSpot { port: 3, share: 0.02 }, even),
            ("10% to one port", Pattern::HotSpot { port: 3, share: 0.1 }, even),
        ];
        let mut cases = Vec::new();
        for network in NetworkKind::all(PORTS) {
            cases.extend(kinds.iter().map(|(name, pattern, arrivals)| Case {
                key: (network, *name),
                network,
                traffic: Traffic { pattern: pattern.clone(), arrivals: *arrivals, ports: 0..PORTS },
                span: Span { follows_order: true, ..self.span(PORT_SLOTS, PORTS) },
            }));
        }
        self.run(&cases, |&(network, traffic), Outcome { figures, .. }| {
            let (least, most) = figures.spread();
            PatternRow {
                network,
                traffic,
                carried: figures.arrived_per_port(),
                least,
                most,
                latency: Times::of(&figures.latency),
                waiting: Times::of(&figures.waiting),
                resequencing: Times::of(&figures.resequencing),
            }
        })
    }

    fn lanes(&self) -> Vec<LanesRow> {
        let shape = Shape::new(PORTS / ANGLES, ANGLES).into_iter();
        let case = |(shape, count): (Shape, u32)| Case {
            key: count,
            network: NetworkKind::Vortices { shape, count },
            traffic: Traffic::uniform(PORTS, Arrivals::Always),
            span: self.span(PORT_SLOTS / 4, PORTS),
        };
        let cases: Vec<_> =
            shape.flat_map(|shape| [1, 2, 4, 8, 16].map(|count| (shape, count))).map(case).collect();
        let found = self.run(&cases, |count, outcome| (*count, outcome.figures.accepted_per_port()));
        let one = found.first().map_or(0.0, |(_, carried)| *carried);
        let row = |&(count, carried): &(u32, f64)| LanesRow {
            count,
            carried,
            efficiency: carried / (f64::from(count) * one),
        };
        found.iter().map(row).collect()
    }
}

impl Times {
    fn of(distribution: &Distribution) -> Times {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| distribution.percentile(share));
        Times { mean: distribution.mean(), p50, p99, max }
    }
}

fn shapes<const H: usize, const A: usize>(
    heights: [u32; H],
    angles: [u32; A],
) -> impl Iterator<Item = Shape> {
    let all = angles.into_iter().flat_map(move |angles| heights.map(|heights| (heights, angles)));
    all.filter_map(|(heights, angles)| Shape::new(heights, angles).ok())
}
