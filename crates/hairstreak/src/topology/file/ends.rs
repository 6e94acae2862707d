//! The meaning of `[input]`, `[output]` and `[plan]`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use hairstreak_model::{Fabric, FabricError, Routing, WINDOW_MAX, Window};

use super::typed::{Meaning, TypedInput, TypedOutput, TypedPlan, Whole, within};
use crate::topology::definition::{Framing, Input, MESSAGE_SIZE_MAX, MESSAGES_MAX, Machine, Output, Stream};

/// The largest rate of messages, per second.
const RATE_MAX: f64 = 1e12;

pub(super) fn input(typed: TypedInput, directory: &Path) -> Meaning<Input> {
    if typed.size.is_some() && typed.messages.is_none() {
        return Err("[input]: size belongs to messages".into());
    }
    if typed.extensions.is_some() && typed.files.is_none() {
        return Err("[input]: extensions belongs to files".into());
    }
    match (typed.messages, typed.lines, typed.files) {
        (Some(messages), None, None) => Ok(Input::Generated {
            messages: within(messages, "[input]: messages", 1, MESSAGES_MAX)?,
            size: within(typed.size.unwrap_or(Whole(100)), "[input]: size", 0, MESSAGE_SIZE_MAX as u64)?
                as usize,
        }),
        (None, Some(path), None) => Ok(Input::Lines(stream("[input]: lines", &path, directory)?)),
        (None, None, Some(path)) => {
            let extensions = typed.extensions.unwrap_or_default();
            let extensions = extensions.iter().map(|name| name.trim_start_matches('.').to_owned()).collect();
            Ok(Input::Files { directory: located("[input]: files", &path, directory)?, extensions })
        }
        _ => Err("[input]: write exactly one of messages = N, lines = \"FILE\" or \"-\", files = \"FOLDER\""
            .into()),
    }
}

pub(super) fn output(typed: TypedOutput, directory: &Path) -> Meaning<Output> {
    let to = match (typed.file, typed.stdout, typed.discard) {
        (Some(path), None, None) => Some(stream("[output]: file", &path, directory)?),
        (None, Some(true), None) => Some(Stream::Standard),
        (None, None, Some(true) | None) => None,
        _ => {
            return Err(
                "[output]: write exactly one of file = \"FILE\", stdout = true, discard = true".into()
            );
        }
    };
    match (to, typed.framing) {
        (Some(to), framing) => Ok(Output::Write { to, framing: framing.unwrap_or(Framing::Lines) }),
        (None, None) => Ok(Output::Discard),
        (None, Some(_)) => Err("[output]: framing belongs to file or stdout".into()),
    }
}

pub(super) fn machine(typed: TypedPlan) -> Meaning<Machine> {
    let cores =
        typed.cores.map(|cores| within(cores, "[plan]: cores", 1, hairstreak_model::CORES_MAX.into()));
    let fabric = fabric(&typed)?;
    if typed.rate.is_some_and(|rate| !(rate > 0.0 && rate <= RATE_MAX)) {
        return Err(format!("[plan]: rate: more than 0 and at most {RATE_MAX:e} messages a second"));
    }
    let queue = typed.queue.map(|queue| within(queue, "[plan]: queue", 1, WINDOW_MAX)).transpose()?;
    Ok(Machine {
        cores: cores.transpose()?.map(|cores| cores as u32),
        hop: typed.hop.map_or(Duration::ZERO, |hop| hop.0),
        monolith: typed.monolith.map(|monolith| monolith.0),
        fabric,
        wiring: typed.wiring.as_deref().map(|text| word("wiring", text)).transpose()?,
        routing: typed.routing.as_deref().map_or(Ok(Routing::default()), |text| word("routing", text))?,
        window: window(&typed)?,
        queue,
        rate: typed.rate,
    })
}

fn word<T: FromStr<Err: Display>>(key: &str, text: &str) -> Meaning<T> {
    text.parse().map_err(|error| format!("[plan]: {key}: {error}"))
}

/// Returns the window of a plan. Without `acknowledge` each result is acknowledged.
fn window(typed: &TypedPlan) -> Meaning<Option<Window>> {
    let acknowledge = typed.acknowledge.unwrap_or(Whole(1));
    let Some(count) = typed.window else {
        return match typed.acknowledge {
            Some(_) => Err("[plan]: acknowledge belongs to window".into()),
            None => Ok(None),
        };
    };
    let count = within(count, "[plan]: window", 1, WINDOW_MAX)?;
    let acknowledge = within(acknowledge, "[plan]: acknowledge", 1, count)?;
    Ok(Some(Window { count, acknowledge }))
}

fn fabric(typed: &TypedPlan) -> Meaning<Option<Fabric>> {
    let Some(text) = &typed.network else {
        let beside = [("slot", typed.slot), ("overhead", typed.overhead)];
        return match beside.iter().find(|(_, given)| given.is_some()) {
            Some((key, _)) => Err(format!("[plan]: {key} belongs to network")),
            None => Ok(None),
        };
    };
    let wrong = |error: FabricError| format!("[plan]: network: {error}");
    let mut fabric: Fabric = text.parse().map_err(wrong)?;
    if let Some(slot) = typed.slot {
        fabric = fabric.with_slot(slot.0).map_err(wrong)?;
    }
    if let Some(overhead) = typed.overhead {
        fabric = fabric.with_overhead(overhead.0).map_err(wrong)?;
    }
    if typed.wiring.as_deref() == Some("hub") {
        return Err("[plan]: wiring: a fabric joins the instances themselves, write \"direct\"".into());
    }
    Ok(Some(fabric))
}

fn stream(key: &str, path: &str, directory: &Path) -> Meaning<Stream> {
    if path == "-" { Ok(Stream::Standard) } else { Ok(Stream::File(located(key, path, directory)?)) }
}

fn located(key: &str, path: &str, directory: &Path) -> Meaning<PathBuf> {
    if path.is_empty() || path.contains('\0') {
        return Err(format!("{key}: the path is empty or has a zero byte"));
    }
    Ok(directory.join(path))
}
