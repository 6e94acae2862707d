//! What `[input]`, `[output]` and `[plan]` mean.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::load::{Meaning, within};
use super::typed::{TypedInput, TypedOutput, TypedPlan, Whole};
use crate::topology::definition::{Framing, Input, MESSAGE_SIZE_MAX, MESSAGES_MAX, Machine, Output, Stream};

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
    Ok(Machine {
        cores: cores.transpose()?.map(|cores| cores as u32),
        hop: typed.hop.map_or(Duration::ZERO, |hop| hop.0),
        monolith: typed.monolith.map(|monolith| monolith.0),
    })
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
