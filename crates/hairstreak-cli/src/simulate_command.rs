//! `hairstreak simulate`: the results of a simulated topology, as tables or as JSON.

use std::fmt::Write;

use hairstreak::calibration::Calibration;
use hairstreak::topology::{Input, Topology};
use hairstreak_model::{
    Advice, Arrivals, Bottleneck, Change, Copies, Load, Network, Pipeline, Simulation, advise,
    simulate as compute,
};
use serde::Serialize;

use crate::arguments::SimulateArguments;
use crate::failure::Failure;
use crate::numbers::{grouped, messages, percent, rate, time};
use crate::output;
use crate::output::{row, table};

/// The default number of messages.
const MESSAGES_DEFAULT: u64 = 100_000;
/// The number of changes that are shown.
const ADVICE_COUNT: usize = 3;

/// The JSON object.
#[derive(Serialize)]
struct SimulateOutput<'a> {
    topology: String,
    network: String,
    seed: u64,
    #[serde(flatten)]
    simulation: &'a Simulation,
    advice: &'a [Advice],
}

pub fn simulate(arguments: &SimulateArguments) -> Result<(), Failure> {
    let topology = Topology::load(&arguments.file).map_err(Failure::usage)?;
    let name = arguments.file.display().to_string();
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{name}: {error}"));
    let mut pipeline = topology.planned_pipeline().map_err(|error| wrong(&error))?;
    if let Some(fabric) = arguments.network {
        pipeline = pipeline.with_network(Network::Fabric(fabric)).map_err(|error| wrong(&error))?;
    }
    if let Some(file) = &arguments.machine {
        let machine = Calibration::load(file).map_err(Failure::usage)?;
        pipeline = machine.apply(pipeline).map_err(|error| wrong(&error))?;
    }
    let load = load(&topology, arguments);
    let simulation = compute(&pipeline, &load);
    let advice = advise(&pipeline, &load);
    let network = network(&pipeline);
    if arguments.json {
        let output = SimulateOutput {
            topology: name,
            network,
            seed: load.seed,
            simulation: &simulation,
            advice: &advice,
        };
        let text = serde_json::to_string_pretty(&output).map_err(Failure::failed)?;
        return output::print(&format!("{text}\n"));
    }
    output::print(&describe(&pipeline, &simulation, &advice, &network))
}

fn load(topology: &Topology, arguments: &SimulateArguments) -> Load {
    let generated = match topology.input {
        Some(Input::Generated { messages, .. }) => Some(messages),
        _ => None,
    };
    let standard = Load::of(arguments.messages.or(generated).unwrap_or(MESSAGES_DEFAULT));
    let rate = arguments.rate.or(topology.machine.rate);
    Load {
        size: arguments.size.or(topology.message_size()).unwrap_or(standard.size),
        arrivals: rate.map_or(Arrivals::Saturated, |per_s| Arrivals::Poisson { per_s }),
        seed: arguments.seed,
        ..standard
    }
}

fn network(pipeline: &Pipeline) -> String {
    match pipeline.network() {
        Network::Ideal => "messages cost nothing".into(),
        Network::Links(_) => "tcp, as calibrated".into(),
        Network::Fabric(fabric) => fabric.to_string(),
    }
}

fn describe(pipeline: &Pipeline, simulation: &Simulation, advice: &[Advice], network: &str) -> String {
    let mut text = stations(simulation);
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\n{} in {}: {} messages/s, {} when full. Network: {network}.",
        messages(simulation.messages),
        time(simulation.makespan_s),
        rate(simulation.predicted_per_s),
        rate(simulation.steady_per_s),
    );
    let latency = &simulation.latency;
    let _ = writeln!(
        text,
        "A message takes {} on average; half take {} at most, 9 of 10 {}, 99 of 100 {}, all {}.",
        time(latency.mean_s),
        time(latency.p50_s),
        time(latency.p90_s),
        time(latency.p99_s),
        time(latency.max_s),
    );
    let _ = write!(
        text,
        "In flight: {:.1} messages on average, {} at most.",
        simulation.in_flight.mean,
        grouped(simulation.in_flight.max)
    );
    let _ = match pipeline.cores() {
        Some(cores) => writeln!(text, " Cores busy: {:.2} of {cores}.", simulation.cores_busy),
        None => writeln!(text, " Cores busy: {:.2}, without a limit.", simulation.cores_busy),
    };
    if simulation.exact_messages < simulation.messages {
        let _ = writeln!(
            text,
            "{} were simulated one by one; the others follow at the same rate.",
            grouped(simulation.exact_messages)
        );
    }
    let _ = writeln!(text, "\nWhat holds the rate: {}.", bottleneck(&simulation.bottleneck));
    text.push_str(&changes(simulation, advice));
    text
}

fn stations(simulation: &Simulation) -> String {
    let mut rows = vec![row(["station", "copies", "busy", "blocked", "waiting", "at most"])];
    for station in &simulation.stations {
        rows.push(vec![
            station.name.clone(),
            station.instances.to_string(),
            format!("{:.1}%", station.busy * 100.0),
            format!("{:.1}%", station.blocked * 100.0),
            format!("{:.1}", station.waiting.mean),
            grouped(station.waiting.max),
        ]);
    }
    table(&rows)
}

fn bottleneck(bottleneck: &Bottleneck) -> String {
    match bottleneck {
        Bottleneck::Cores => "the cores".into(),
        Bottleneck::Serial(stage) => format!("the resource that the instances of {stage} share"),
        Bottleneck::Stage(stage) => format!("the instances of {stage}"),
        Bottleneck::Hub(name) => format!("the {name}, which hands on one message after the other"),
        Bottleneck::Network => "a port of the network".into(),
        Bottleneck::Window => "the window".into(),
        Bottleneck::Input => "nothing, for messages come more slowly".into(),
    }
}

fn changes(simulation: &Simulation, advice: &[Advice]) -> String {
    if advice.is_empty() {
        return "To change first: nothing of what was tried gains 1%.\n".into();
    }
    let by_latency = simulation.bottleneck == Bottleneck::Input;
    let lines = advice.iter().take(ADVICE_COUNT).map(|advice| {
        let gains = if by_latency {
            format!("99 of 100 take {} at most, {} less", time(advice.p99_s), percent(Some(advice.gain)))
        } else {
            format!("{} messages/s, {}", rate(advice.per_s), percent(Some(advice.gain)))
        };
        format!("  {}: {gains}\n", change(&advice.change))
    });
    format!("To change first:\n{}", lines.collect::<String>())
}

fn change(change: &Change) -> String {
    match change {
        Change::Copies { stages } => {
            let of = |copies: &Copies| format!("{}: instances = {}", copies.stage, copies.instances);
            stages.iter().map(of).collect::<Vec<_>>().join(", ")
        }
        Change::Window { count } => format!("window = {count}"),
        Change::Acknowledge { acknowledge } => format!("acknowledge = {acknowledge}"),
        Change::LeastLoaded => "routing = \"least-loaded\"".into(),
        Change::Core { cores } => format!("cores = {cores}"),
    }
}
