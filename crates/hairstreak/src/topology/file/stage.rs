//! The meaning of a `[[stage]]`.

use std::time::Duration;

use hairstreak_model::{Distribution, DistributionError, INSTANCES_MAX, Times};

use super::typed::{Builtin, Meaning, TypedCommand, TypedStage, WrittenDuration, section, within};
use crate::topology::definition::{CommandLine, NAME_SIZE_MAX, Stage, Work};

pub(super) fn stage(index: usize, table: toml::Table) -> Meaning<Stage> {
    let owner = match table.get("name").and_then(|name| name.as_str()) {
        Some(name) => format!("stage \"{}\"", name.escape_debug()),
        None => format!("stage {}", index + 1),
    };
    let typed: TypedStage = section(&owner, table)?;
    meaning_of_stage(typed).map_err(|reason| format!("{owner}: {reason}"))
}

fn meaning_of_stage(typed: TypedStage) -> Meaning<Stage> {
    let name = typed.name.clone().ok_or("name is missing")?;
    let readable = |letter: char| !letter.is_control() && letter != '"';
    if name.is_empty() || name.len() > NAME_SIZE_MAX || !name.chars().all(readable) {
        return Err(format!("name: 1 to {NAME_SIZE_MAX} bytes without quotes and control characters"));
    }
    let instances =
        typed.instances.map_or(Ok(1), |count| within(count, "instances", 1, INSTANCES_MAX.into()))?;
    let work = work(&typed)?;
    let times = times(&typed, work.as_ref())?;
    let distribution = distribution(&typed, times)?;
    Ok(Stage { name, instances: instances as u32, work, times, distribution })
}

/// Returns the distribution of the time to process. That time must be given.
fn distribution(typed: &TypedStage, times: Option<Times>) -> Meaning<Distribution> {
    let Some(text) = &typed.distribution else { return Ok(Distribution::Constant) };
    if times.is_none() {
        return Err("distribution needs a time beside it, as in process = \"2ms\"".into());
    }
    text.parse().map_err(|error: DistributionError| format!("distribution: {error}"))
}

const WORK_KEYS: &str = "sleep, spin, echo, builtin, command, program";

fn work(typed: &TypedStage) -> Meaning<Option<Work>> {
    let given: [Option<Meaning<Work>>; 6] = [
        typed.sleep.map(|sleep| Ok(Work::Sleep(sleep.0))),
        typed.spin.map(|spin| Ok(Work::Spin(spin.0))),
        match typed.echo {
            Some(true) => Some(Ok(Work::Echo)),
            Some(false) => return Err("echo = false; leave the key away".into()),
            None => None,
        },
        typed.builtin.map(|Builtin::Echo| Ok(Work::Echo)),
        typed.command.as_ref().map(|command| {
            let framing = typed.framing.ok_or("command needs framing beside it, \"lines\" or \"length\"")?;
            Ok(Work::Filter { command: command_line("command", command)?, framing })
        }),
        typed.program.as_ref().map(|program| Ok(Work::Program(command_line("program", program)?))),
    ];
    let mut given = given.into_iter().flatten();
    let work: Option<Work> = given.next().transpose()?;
    if given.next().is_some() {
        return Err(format!("exactly one of {WORK_KEYS} is allowed, here are several"));
    }
    if work.is_none() && typed.process.is_none() {
        return Err(format!("one of {WORK_KEYS} is missing"));
    }
    if typed.framing.is_some() && !matches!(work, Some(Work::Filter { .. })) {
        return Err("framing belongs to a command".into());
    }
    Ok(work)
}

fn command_line(key: &str, typed: &TypedCommand) -> Meaning<CommandLine> {
    let (empty, line) = match typed {
        TypedCommand::Shell(text) => (text.trim().is_empty(), CommandLine::Shell(text.clone())),
        TypedCommand::Arguments(words) => {
            (words.first().is_none_or(String::is_empty), CommandLine::Arguments(words.clone()))
        }
    };
    let whole = match &line {
        CommandLine::Shell(text) => text.clone(),
        CommandLine::Arguments(words) => words.concat(),
    };
    if empty || whole.contains('\0') {
        return Err(format!(
            "{key}: names no program; write [\"program\", \"argument\"] or a line for the shell"
        ));
    }
    Ok(line)
}

/// Returns the times of a message in the stage. A sleep, a spin and an echo state the time; other commands need
/// `process`.
fn times(typed: &TypedStage, work: Option<&Work>) -> Meaning<Option<Times>> {
    let own = match work {
        Some(Work::Sleep(time) | Work::Spin(time)) => Some(*time),
        Some(Work::Echo) => Some(Duration::ZERO),
        _ => None,
    };
    let optional = |given: Option<WrittenDuration>| given.map(|given| given.0);
    let Some(process) = optional(typed.process).or(own) else {
        let beside =
            [("receive", typed.receive), ("send", typed.send), ("serial", typed.serial), ("cpu", typed.cpu)];
        return match beside.iter().find(|(_, given)| given.is_some()) {
            Some((key, _)) => Err(format!("{key} needs process beside it, as in process = \"2ms\"")),
            None => Ok(None),
        };
    };
    let receive = optional(typed.receive).unwrap_or_default();
    let send = optional(typed.send).unwrap_or_default();
    let working = if matches!(work, Some(Work::Sleep(_))) { Duration::ZERO } else { process };
    Ok(Some(Times {
        receive,
        process,
        send,
        serial: optional(typed.serial).unwrap_or_default(),
        cpu: optional(typed.cpu).unwrap_or(receive + working + send),
    }))
}
