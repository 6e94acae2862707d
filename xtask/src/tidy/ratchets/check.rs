//! The rules `circles`, `methods`, `fields` and `impls`, and lowering the record.

use std::path::Path;

use super::super::Finding;
use super::super::tree::{ReadError, Tree};
use super::measure::{self, Measure};
use super::record::{Record, Sizes, line_of};
use super::types::{FIELDS_MAX, METHODS_MAX, Size};

/// Where the record is, relative to the checkout.
pub const RECORD: &str = "xtask/src/tidy/ratchets.toml";
const COMMAND: &str = "`cargo run -p xtask -- ratchets`";

pub(in super::super) fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.text_of(RECORD).unwrap_or_default();
    let measures = Measure::all(tree);
    match Record::read(text) {
        Ok(recorded) => {
            let mut findings = grown(&measures, &recorded);
            findings.extend(shrunk(&measure::record(&measures), &recorded, text));
            findings
        }
        Err(error) => vec![no_record(&error)],
    }
}

/// The text of the record for the checkout at `root`, or the findings about what grew since the record was
/// written. A checkout without a record gets one with all its values.
pub fn lowered_record(root: &Path) -> Result<Result<String, Vec<Finding>>, ReadError> {
    Ok(lower(&Tree::read(root)?))
}

pub(super) fn lower(tree: &Tree) -> Result<String, Vec<Finding>> {
    let measures = Measure::all(tree);
    let measured = measure::record(&measures);
    let recorded = match tree.text_of(RECORD).map(Record::read) {
        Some(recorded) => recorded.map_err(|error| vec![no_record(&error)])?,
        None => Record::read(&measured.text()).map_err(|error| vec![no_record(&error)])?,
    };
    let grown = grown(&measures, &recorded);
    if grown.is_empty() { Ok(measured.text()) } else { Err(grown) }
}

fn no_record(error: &toml::de::Error) -> Finding {
    Finding::new(RECORD, 1, "circles", format!("cannot be read: {}", error.message()))
}

/// Measured values that are larger than the recorded ones, and files that cannot be measured.
fn grown(measures: &[Measure], recorded: &Record) -> Vec<Finding> {
    let mut findings = Vec::new();
    for measure in measures {
        let krate = &measure.krate;
        for (path, line, error) in &krate.unreadable {
            findings.push(Finding::new(path, *line, "circles", format!("cannot be read as Rust: {error}")));
        }
        findings.extend(grown_circles(measure, recorded));
        for (rule, max, sizes, recorded) in [
            ("methods", METHODS_MAX, &measure.methods, &recorded.methods),
            ("fields", FIELDS_MAX, &measure.fields, &recorded.fields),
            ("impls", 0, &measure.impls, &recorded.impls),
        ] {
            let recorded = recorded.get(&krate.name);
            for (name, size) in sizes {
                let allowed = recorded.and_then(|sizes| sizes.get(name)).copied();
                if size.value > allowed.unwrap_or(max) {
                    let advice = advice_on_size(rule, name, size, allowed, max);
                    findings.push(Finding::new(&krate.path(size.file), size.line, rule, advice));
                }
            }
        }
    }
    findings
}

fn advice_on_size(rule: &str, name: &str, size: &Size, recorded: Option<usize>, max: usize) -> String {
    let bound = match recorded {
        Some(recorded) => format!("{recorded} are recorded, which may only go down"),
        None => format!("a type has at most {max}"),
    };
    if rule == "impls" {
        let advice = "an inherent impl stands in the file of its type";
        return format!("{name} has {} impls outside of its file, {bound}: {advice}", size.value);
    }
    format!(
        "{name} has {} {rule}, {bound}: move an idea of its own, with its state, into a type of its own",
        size.value
    )
}

/// Files that are in a circle and were in none, and imports that make one circle of several.
fn grown_circles(measure: &Measure, recorded: &Record) -> Vec<Finding> {
    let (krate, imports) = (&measure.krate, &measure.imports);
    let recorded: &[Vec<String>] = recorded.circles.get(&krate.name).map_or(&[], |circles| circles);
    let circle_before = |file: usize| recorded.iter().position(|circle| circle.contains(&krate.files[file]));
    let mut findings = Vec::new();
    let mut found = |file: usize, line: usize, advice: String| {
        findings.push(Finding::new(&krate.path(file), line, "circles", advice));
    };
    for circle in &measure.circles {
        for &file in circle.iter().filter(|&&file| circle_before(file).is_none()) {
            if let Some((way, line)) = imports.shortest_circle(file) {
                let way: Vec<&str> = way.iter().map(|&file| &*krate.files[file]).collect();
                let advice = format!(
                    "closes a circle of imports, {}: take what is needed as an argument, or move what both \
                     need into a file of its own",
                    way.join(" -> ")
                );
                found(file, line, advice);
            }
        }
        for (from, to, line) in imports.among(circle) {
            if let (Some(a), Some(b)) = (circle_before(from), circle_before(to))
                && a != b
            {
                let advice = format!(
                    "imports {}, and circles that were apart are now one of {} files: remove one of the \
                     imports between them",
                    krate.files[to],
                    circle.len()
                );
                found(from, line, advice);
            }
        }
    }
    findings
}

/// Recorded values that are larger than the measured ones.
fn shrunk(measured: &Record, recorded: &Record, text: &str) -> Vec<Finding> {
    let mut findings = shrunk_circles(measured, recorded, text);
    for (rule, measured, recorded) in [
        ("methods", &measured.methods, &recorded.methods),
        ("fields", &measured.fields, &recorded.fields),
        ("impls", &measured.impls, &recorded.impls),
    ] {
        findings.extend(shrunk_sizes(rule, measured, recorded, text));
    }
    findings
}

fn shrunk_sizes(rule: &'static str, measured: &Sizes, recorded: &Sizes, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (krate, sizes) in recorded {
        for (name, &value) in sizes {
            let now = measured.get(krate).and_then(|sizes| sizes.get(name)).copied();
            if now.is_none_or(|now| now < value) {
                let now = now.map_or("few enough".to_owned(), |now| now.to_string());
                let advice = format!(
                    "{name} of {krate} has {now} {rule}, {value} are recorded: lower the record with {COMMAND}"
                );
                let line = line_of(text, &format!("[{rule}.{krate}]"), name);
                findings.push(Finding::new(RECORD, line, rule, advice));
            }
        }
    }
    findings
}

/// The crates whose circles lost files or fell apart, and did nothing else.
fn shrunk_circles(measured: &Record, recorded: &Record, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (krate, before) in &recorded.circles {
        let now: &[Vec<String>] = measured.circles.get(krate).map_or(&[], |circles| circles);
        let is_part = |circle: &Vec<String>| {
            before.iter().any(|before| circle.iter().all(|file| before.contains(file)))
        };
        if now != before && now.iter().all(is_part) {
            let count = |circles: &[Vec<String>]| circles.iter().map(Vec::len).sum::<usize>();
            let advice = format!(
                "{} files of {krate} in {} circles, {} in {} are recorded: lower the record with {COMMAND}",
                count(now),
                now.len(),
                count(before),
                before.len()
            );
            findings.push(Finding::new(RECORD, line_of(text, "[circles]", krate), "circles", advice));
        }
    }
    findings
}
