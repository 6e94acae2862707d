//! `hairstreak store check`: a summary of the message log, and its damaged places.

use hairstreak_store::log::{self, Finding, LogReport, RecoveredQueue};
use serde::Serialize;
use serde_json::json;

use super::arguments::CheckArguments;
use super::queue_names::{NamedQueue, QueueNames, open};
use crate::failure::Failure;
use crate::line::one_line;
use crate::numbers::{grouped, messages};
use crate::output::{print, row, table};

/// A finding in JSON.
#[derive(Serialize)]
struct FindingOutput {
    file: String,
    offset: u64,
    size: u64,
    damage: bool,
    finding: String,
    cost: String,
    lost: Vec<Lost>,
}

/// Lost messages of a queue in JSON.
#[derive(Serialize)]
struct Lost {
    #[serde(flatten)]
    queue: NamedQueue,
    messages: u64,
}

pub fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let (directory, log) = open(&arguments.directory)?;
    let names = QueueNames::read(&directory);
    let report = log::check(&log).map_err(Failure::usage)?;
    let unreadable = names.as_ref().err().map(|error| FindingOutput {
        file: "definitions.redb".into(),
        offset: 0,
        size: 0,
        damage: true,
        finding: error.clone(),
        cost: "a node does not start with the directory".into(),
        lost: Vec::new(),
    });
    let names = names.unwrap_or_default();
    let findings = report.findings.iter().map(|finding| FindingOutput::new(finding, &names));
    let findings: Vec<FindingOutput> = unreadable.into_iter().chain(findings).collect();
    print(&match arguments.json {
        true => format!("{}\n", to_json(&report, &names, &findings)),
        false => to_text(&report, &names, &findings, arguments.verbose),
    })?;
    let damage_count = findings.iter().filter(|finding| finding.damage).count() as u64;
    let lost_count: u64 = report.findings.iter().flat_map(|finding| finding.lost.values()).sum();
    match damage_count {
        0 => Ok(()),
        _ => Err(Failure::failed(format!(
            "{} is damaged: {} place{}, {} lost",
            arguments.directory.display(),
            grouped(damage_count),
            if damage_count == 1 { "" } else { "s" },
            messages(lost_count)
        ))),
    }
}

impl FindingOutput {
    fn new(finding: &Finding, names: &QueueNames) -> FindingOutput {
        let Finding { file, offset, size, part, lost } = finding;
        let of_queue = |(id, count): (&u64, &u64)| format!("{} of {}", messages(*count), names.describe(*id));
        let cost = match lost.is_empty() {
            true => part.cost().to_owned(),
            false => lost.iter().map(of_queue).collect::<Vec<_>>().join(", "),
        };
        let lost = lost.iter().map(|(id, count)| Lost { queue: names.json(*id), messages: *count });
        FindingOutput {
            file: file.clone(),
            offset: *offset,
            size: *size,
            damage: part.is_damage(),
            finding: part.describe().to_owned(),
            cost,
            lost: lost.collect(),
        }
    }

    fn to_line(&self) -> String {
        format!(
            "{}: {} at {}, {} bytes: {}; lost: {}\n",
            if self.damage { "damage" } else { "note" },
            one_line(&self.file),
            self.offset,
            self.size,
            one_line(&self.finding),
            self.cost
        )
    }
}

fn to_json(report: &LogReport, names: &QueueNames, findings: &[FindingOutput]) -> String {
    let queues: Vec<_> = report
        .queues
        .iter()
        .map(|queue| {
            let NamedQueue { id, vhost, name } = names.json(queue.id);
            json!({
                "id": id, "vhost": vhost, "name": name, "messages": queue.count, "bytes": queue.body_bytes,
                "first_sequence": queue.first_sequence, "last_sequence": queue.last_sequence,
                "returned_messages": queue.returns.len(),
            })
        })
        .collect();
    let (live_count, live_bytes) = live(report);
    json!({
        "segments": report.segment_count, "spare_files": report.spare_count, "bytes": report.file_bytes,
        "groups": report.group_count, "records": report.record_counts, "live_messages": live_count,
        "live_bytes": live_bytes, "closed_in_order": report.was_closed, "queues": queues, "findings": findings,
    })
    .to_string()
}

fn live(report: &LogReport) -> (u64, u64) {
    let add =
        |(count, bytes): (u64, u64), queue: &RecoveredQueue| (count + queue.count, bytes + queue.body_bytes);
    report.queues.iter().fold((0, 0), add)
}

fn to_text(report: &LogReport, names: &QueueNames, findings: &[FindingOutput], is_verbose: bool) -> String {
    let (live_count, live_bytes) = live(report);
    let mut rows = vec![
        row(["segments", &grouped(report.segment_count)]),
        row(["spare files", &grouped(report.spare_count)]),
        row(["bytes", &grouped(report.file_bytes)]),
        row(["groups", &grouped(report.group_count)]),
    ];
    rows.extend(
        report.record_counts.iter().map(|(kind, count)| vec![format!("records: {kind}"), grouped(*count)]),
    );
    let queue_count = report.queues.iter().filter(|queue| queue.count > 0).count() as u64;
    let closed = if report.was_closed { "yes" } else { "no" };
    rows.extend([
        row(["queues with messages", &grouped(queue_count)]),
        row(["live messages", &grouped(live_count)]),
        row(["live bytes", &grouped(live_bytes)]),
        row(["closed in order", closed]),
    ]);
    let mut text = table(&rows);
    if is_verbose && !report.queues.is_empty() {
        let mut rows = vec![row(["queue", "messages", "bytes", "first", "last", "returned"])];
        rows.extend(report.queues.iter().map(|queue| {
            vec![
                names.describe(queue.id),
                grouped(queue.count),
                grouped(queue.body_bytes),
                queue.first_sequence.to_string(),
                queue.last_sequence.to_string(),
                grouped(queue.returns.len() as u64),
            ]
        }));
        text.push('\n');
        text.push_str(&table(&rows));
    }
    findings.iter().for_each(|finding| text.push_str(&finding.to_line()));
    text
}
