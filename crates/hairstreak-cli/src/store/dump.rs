//! `hairstreak store dump`: the records of the message log, a line each.

use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hairstreak_store::log::{MessageRecord, Record, RecordPlace};
use serde_json::{Map, Value, json};

use super::arguments::DumpArguments;
use super::queue_names::{QueueNames, open};
use crate::failure::Failure;
use crate::line::one_line_of_json;
use crate::output::{announce, warn};

/// Bytes of lines that are written at once.
const OUTPUT_SIZE: usize = 64 << 10;

/// Messages of one queue in a record. A record about a whole queue has no sequences.
struct Run {
    queue: u64,
    sequences: Option<(u64, u64)>,
    /// More about the run: its name in JSON and for people, and the number.
    detail: Option<(&'static str, &'static str, u64)>,
}

pub fn dump(arguments: &DumpArguments) -> Result<(), Failure> {
    let (directory, log) = open(&arguments.directory)?;
    let names = QueueNames::read(&directory);
    if let (Err(error), None) = (&names, &arguments.queue) {
        warn(error);
    }
    let only = match (&arguments.queue, &names) {
        (None, _) => None,
        (Some(_), Err(error)) => return Err(Failure::failed(error)),
        (Some(name), Ok(names)) => Some(names.find(&arguments.vhost, name).ok_or_else(|| {
            let vhost = &arguments.vhost;
            Failure::failed(format!(
                "there is no queue '{name}' with messages on disk in virtual host '{vhost}'"
            ))
        })?),
    };
    let names = names.unwrap_or_default();
    let mut output = String::new();
    let visited = log.visit(|place, record| {
        let mut runs = runs(record);
        runs.retain(|run| only.is_none_or(|only| run.queue == only));
        if runs.is_empty() {
            return ControlFlow::Continue(());
        }
        output.push_str(&match arguments.json {
            true => to_json(place, record, &runs, &names, arguments.bodies),
            false => to_text(place, record, &runs, &names, arguments.bodies),
        });
        output.push('\n');
        if output.len() < OUTPUT_SIZE {
            return ControlFlow::Continue(());
        }
        match announce(std::mem::take(&mut output)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => ControlFlow::Break(failure),
        }
    });
    match visited.map_err(Failure::usage)? {
        ControlFlow::Break(failure) => Err(failure),
        ControlFlow::Continue(()) => announce(output),
    }
}

/// The parts of queues that a record is about.
fn runs(record: &Record<'_>) -> Vec<Run> {
    let one = |queue, first, last| Run { queue, sequences: Some((first, last)), detail: None };
    match record {
        Record::Message(message) => {
            let target = |target: hairstreak_store::log::Target| Run {
                detail: target.ttl_ms.map(|ttl_ms| ("ttl_ms", "ms to live", ttl_ms)),
                ..one(target.queue, target.sequence, target.sequence)
            };
            let moved = message.moved.map(|from| Run {
                detail: Some(("moved_bytes", "bytes that leave the queue", from.body_size)),
                ..one(from.queue, from.first, from.first)
            });
            message.targets.iter().map(target).chain(moved).collect()
        }
        Record::Settled(runs) => runs
            .iter()
            .map(|run| one(run.queue, run.first, run.first.saturating_add(run.count.saturating_sub(1))))
            .collect(),
        Record::Dropped { queue, first, last } => vec![one(*queue, *first, *last)],
        Record::Returned { queue, sequence, count } => {
            vec![Run { detail: Some(("returns", "returns", *count)), ..one(*queue, *sequence, *sequence) }]
        }
        Record::Leased { queue, through } => vec![one(*queue, 0, *through)],
        Record::Forgotten { queue } => vec![Run { queue: *queue, sequences: None, detail: None }],
    }
}

fn to_text(
    place: &RecordPlace,
    record: &Record<'_>,
    runs: &[Run],
    names: &QueueNames,
    has_bodies: bool,
) -> String {
    let mut text = format!(
        "segment {} offset {} group {} {} {} bytes",
        place.segment,
        place.offset,
        place.group,
        record.kind_name(),
        place.size
    );
    for run in runs {
        text.push_str(&format!(", {}", names.describe(run.queue)));
        match run.sequences {
            Some((first, last)) if first == last => text.push_str(&format!(" sequence {first}")),
            Some((first, last)) => text.push_str(&format!(" sequences {first} to {last}")),
            None => {}
        }
        if let Some((_, name, number)) = run.detail {
            text.push_str(&format!(" {number} {name}"));
        }
    }
    if let Record::Message(message) = record {
        text.push_str(&format!(
            ", {}, priority {}, exchange '{}', key '{}', properties {} bytes, body {} bytes",
            if message.is_persistent { "persistent" } else { "transient" },
            message.priority,
            message.exchange.escape_ascii(),
            message.routing_key.escape_ascii(),
            message.properties.len(),
            message.body.len()
        ));
        if has_bodies {
            text.push_str(&format!(" '{}'", message.body.escape_ascii()));
        }
    }
    text
}

fn to_json(
    place: &RecordPlace,
    record: &Record<'_>,
    runs: &[Run],
    names: &QueueNames,
    has_bodies: bool,
) -> String {
    let run = |run: &Run| {
        let mut object = serde_json::to_value(names.json(run.queue)).unwrap_or_default();
        if let Some((first, last)) = run.sequences {
            (object["first"], object["last"]) = (first.into(), last.into());
        }
        if let Some((name, _, number)) = run.detail {
            object[name] = number.into();
        }
        object
    };
    let runs: Vec<Value> = runs.iter().map(run).collect();
    let mut object = Map::new();
    let fields = json!({
        "segment": place.segment, "file": place.file, "offset": place.offset, "group": place.group,
        "kind": record.kind_name(), "size": place.size, "queues": runs,
    });
    object.extend(fields.as_object().cloned().unwrap_or_default());
    if let Record::Message(message) = record {
        object.extend(message_fields(message, has_bodies));
    }
    one_line_of_json(&Value::Object(object).to_string())
}

/// The fields of a message, with names as in `consume --json`.
fn message_fields(message: &MessageRecord<'_>, has_bodies: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("persistent", message.is_persistent.into());
    put("priority", message.priority.into());
    put("exchange", String::from_utf8_lossy(message.exchange).into());
    put("key", String::from_utf8_lossy(message.routing_key).into());
    if message.time_ms > 0 {
        put("time_ms", message.time_ms.into());
    }
    put("properties_bytes", message.properties.len().into());
    put("body_bytes", message.body.len().into());
    if has_bodies {
        match std::str::from_utf8(message.body) {
            Ok(text) => put("body", text.into()),
            Err(_) => put("body_base64", STANDARD.encode(message.body).into()),
        }
    }
    fields
}
