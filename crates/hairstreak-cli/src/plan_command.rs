//! `hairstreak plan`: the capacity of a topology, as a table or as JSON.

use std::fmt::Write;

use hairstreak::topology::{Input, Topology};
use hairstreak_model::{INSTANCES_MAX, Layout, Limit, Load, Plan, Simulation, plan as compute, simulate};
use serde::Serialize;

use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::numbers::{self, grouped, percent, rate, time};
use crate::output;
use crate::output::{row, table};

/// The JSON object.
#[derive(Serialize)]
struct PlanOutput<'a> {
    topology: String,
    messages: Option<u64>,
    makespan_s: Option<f64>,
    predicted_per_s: Option<f64>,
    #[serde(flatten)]
    plan: &'a Plan,
}

pub fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    let topology = Topology::load(&arguments.file).map_err(Failure::usage)?;
    let name = arguments.file.display().to_string();
    let pipeline = topology.pipeline().map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let plan = compute(&pipeline, arguments.target);
    let generated = match topology.input {
        Some(Input::Generated { messages, .. }) => Some(messages),
        _ => None,
    };
    let simulation =
        arguments.messages.or(generated).map(|messages| simulate(&pipeline, &Load::of(messages)));
    if arguments.json {
        let output = PlanOutput {
            topology: name,
            messages: simulation.as_ref().map(|simulation| simulation.messages),
            makespan_s: simulation.as_ref().map(|simulation| simulation.makespan_s),
            predicted_per_s: simulation.as_ref().and_then(|simulation| simulation.predicted_per_s),
            plan: &plan,
        };
        let text = serde_json::to_string_pretty(&output).map_err(Failure::failed)?;
        output::print(&format!("{text}\n"))
    } else {
        output::print(&describe(&plan, simulation.as_ref()))
    }
}

fn describe(plan: &Plan, simulation: Option<&Simulation>) -> String {
    let mut text = stages(plan);
    let rates: Vec<String> = plan.stages.iter().map(|stage| rate(stage.rate_per_s)).collect();
    let steady = rate(plan.steady_per_s);
    // Writing to a string does not fail.
    let _ = match plan.limited_by {
        Limit::Cores => writeln!(text, "\nThe system: {steady} messages/s, all that the cores can do."),
        Limit::Serial => writeln!(
            text,
            "\nThe system: min({}) = {steady} messages/s, the shared resource of {}.",
            rates.join(", "),
            plan.bottleneck
        ),
        Limit::Instances => {
            writeln!(
                text,
                "\nThe system: min({}) = {steady} messages/s, set by {}.",
                rates.join(", "),
                plan.bottleneck
            )
        }
    };
    if let Some(Simulation { messages, makespan_s, predicted_per_s: Some(predicted), .. }) = simulation {
        let _ = writeln!(
            text,
            "A run of {}: {} messages/s in {}, the filling and the last round included.",
            numbers::messages(*messages),
            rate(Some(*predicted)),
            time(*makespan_s)
        );
    }
    let order = if plan.order_kept {
        "replies keep the order of their requests"
    } else {
        "replies may overtake each other, for a stage has several instances"
    };
    let _ = writeln!(text, "One transaction takes {}; {order}.\n", time(plan.latency_s));
    text.push_str(&layouts(plan));
    text.push_str(&target(plan));
    text
}

fn stages(plan: &Plan) -> String {
    let mut rows = vec![row([
        "stage",
        "instances",
        "receive",
        "process",
        "send",
        "serial",
        "one does",
        "all do",
        "messages/s",
    ])];
    for stage in &plan.stages {
        let mark = match (stage.name == plan.bottleneck, stage.capped_by_serial) {
            (true, _) => "slowest",
            (false, true) => "serial",
            (false, false) => "",
        };
        rows.push(vec![
            stage.name.clone(),
            stage.instances.to_string(),
            time(stage.receive_s),
            time(stage.process_s),
            time(stage.send_s),
            time(stage.serial_s),
            rate(stage.per_instance_per_s),
            rate(stage.rate_per_s),
            mark.to_owned(),
        ]);
    }
    table(&rows)
}

fn layouts(plan: &Plan) -> String {
    let instances = plan.stages.iter().map(|stage| stage.instances).sum();
    let own =
        Layout { processes: instances, per_s: plan.steady_per_s, gain: plan.gain, latency_s: plan.latency_s };
    let mut rows = vec![row(["the same work", "processes", "messages/s", "gain", "latency"])];
    for (name, layout) in [
        ("monolith, undivided", &plan.monolith),
        ("pipelined, one instance of each stage", &plan.pipelined),
        ("parallel, copies of the monolith", &plan.parallel),
        ("this topology", &own),
    ] {
        rows.push(vec![
            name.to_owned(),
            layout.processes.to_string(),
            rate(layout.per_s),
            percent(layout.gain),
            time(layout.latency_s),
        ]);
    }
    table(&rows)
}

fn target(plan: &Plan) -> String {
    let Some(target) = plan.target else { return String::new() };
    let mut text = format!("\nFor {} messages/s:\n", rate(Some(target.per_s)));
    for stage in &plan.stages {
        let _ = match stage.instances_needed {
            Some(needed) if needed > INSTANCES_MAX.into() => writeln!(
                text,
                "  {}: {} instances, more than the {} a stage may have",
                stage.name,
                grouped(needed),
                grouped(INSTANCES_MAX.into())
            ),
            Some(needed) => writeln!(text, "  {}: instances = {needed}", stage.name),
            None => writeln!(
                text,
                "  {}: out of reach, its shared resource allows {}",
                stage.name,
                rate(Some(1.0 / stage.serial_s))
            ),
        };
    }
    if target.cores_needed > 0 {
        let verdict = if target.cores_suffice { "" } else { ", more than there are" };
        let _ = writeln!(text, "  cores kept busy: {}{verdict}", grouped(target.cores_needed));
    }
    text
}
