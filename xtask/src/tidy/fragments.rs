//! Rule `fragments`: a file of production code is one idea, usually of 100 to 400 lines.
//!
//! The median file has at least `MEDIAN_MIN` lines. A file below `LINES_MIN` lines needs a reason in `FRAGMENTS`, which has at most
//! `FRAGMENTS_MAX` of them. Roots of modules do not count.

use super::Finding;
use super::tree::Tree;

const LINES_MIN: usize = 40;
const MEDIAN_MIN: usize = 130;
const FRAGMENTS_MAX: usize = 30;

/// Files below `LINES_MIN` lines, and the reason of each.
const FRAGMENTS: &[(&str, &str)] = &[
    (
        "crates/hairstreak-base/src/framing.rs",
        "the interface between frames and segments, which several files fulfil",
    ),
    ("crates/hairstreak-bench/src/frame/turns.rs", "the order of samples, which every study uses"),
    ("crates/hairstreak-bench/src/sample/contender/keys.rs", "the keys of two contenders"),
    ("crates/hairstreak-chart/src/error.rs", "the error of axes and charts"),
    ("crates/hairstreak-cli/src/bench_command.rs", "a command"),
    ("crates/hairstreak-fabric/src/parameters.rs", "the parameters of three networks"),
    ("crates/hairstreak-model/src/network/kind.rs", "the names of networks, below both of them"),
    ("crates/hairstreak-socket/src/pair.rs", "a pattern"),
    ("crates/hairstreak-socket/src/reqrep/dealer.rs", "a pattern"),
    ("crates/hairstreak-wire/src/amqp/method/access.rs", "a class of AMQP methods"),
    ("crates/hairstreak-wire/src/amqp/strings.rs", "short strings, below fields and methods"),
    ("crates/hairstreak/src/service.rs", "the names of services for applications"),
];

/// The place of findings about all files.
const PLACE: &str = "xtask/src/tidy/fragments.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, FRAGMENTS)
}

fn check_with(tree: &Tree, reasons: &[(&str, &str)]) -> Vec<Finding> {
    let is_root = |path: &str| ["/mod.rs", "/lib.rs", "/main.rs"].iter().any(|root| path.ends_with(root));
    let mut files: Vec<(&str, usize)> = tree
        .files
        .iter()
        .filter(|file| {
            file.path.starts_with("crates/") && file.path.contains("/src/") && file.path.ends_with(".rs")
        })
        .filter(|file| !file.is_test() && !is_root(&file.path))
        .map(|file| (&*file.path, file.text.lines().count()))
        .collect();
    files.sort_by_key(|(_, lines)| *lines);
    let mut findings = Vec::new();
    if let Some((_, median)) = files.get(files.len() / 2).filter(|(_, median)| *median < MEDIAN_MIN) {
        let advice = format!(
            "the median file has {median} lines, and at least {MEDIAN_MIN} are wanted: merge fragments"
        );
        findings.push(Finding::new(PLACE, 1, "fragments", advice));
    }
    if reasons.len() > FRAGMENTS_MAX {
        let advice =
            format!("{} fragments have a reason, and at most {FRAGMENTS_MAX} are allowed", reasons.len());
        findings.push(Finding::new(PLACE, 1, "fragments", advice));
    }
    let is_fragment = |path: &str| files.iter().any(|(file, lines)| *file == path && *lines < LINES_MIN);
    for (path, lines) in files
        .iter()
        .filter(|(path, lines)| *lines < LINES_MIN && !reasons.iter().any(|(reason, _)| reason == path))
    {
        let advice = format!(
            "{lines} lines: merge the file into the one that it serves, or give its reason in {PLACE}"
        );
        findings.push(Finding::new(path, 1, "fragments", advice));
    }
    for (path, _) in reasons.iter().filter(|(path, _)| !is_fragment(path)) {
        findings.push(Finding::new(
            PLACE,
            1,
            "fragments",
            format!("{path} is no fragment any more: remove its reason"),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_files(lines: &[(&str, usize)], reasons: &[(&str, &str)], expected: &[&str]) {
        let texts: Vec<(String, String)> =
            lines.iter().map(|(name, lines)| (format!("crates/a/src/{name}"), "\n".repeat(*lines))).collect();
        let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (&**path, &**text)).collect();
        let findings = check_with(&Tree::of(&files), reasons);
        assert_eq!(
            findings.iter().map(|finding| &*finding.path).collect::<Vec<_>>(),
            expected,
            "{findings:?}"
        );
    }

    #[test]
    fn a_short_file_needs_a_reason() {
        check_files(&[("a.rs", 39), ("b.rs", 200), ("c.rs", 200)], &[], &["crates/a/src/a.rs"]);
        check_files(&[("a.rs", 39), ("b.rs", 200), ("c.rs", 200)], &[("crates/a/src/a.rs", "a reason")], &[]);
        check_files(
            &[("a.rs", 40), ("b.rs", 200), ("c.rs", 200)],
            &[("crates/a/src/a.rs", "a reason")],
            &[PLACE],
        );
        check_files(&[("mod.rs", 2), ("tests/a.rs", 2), ("b.rs", 200)], &[], &[]);
    }

    #[test]
    fn the_median_file_is_long_enough() {
        check_files(&[("a.rs", 120), ("b.rs", 129), ("c.rs", 500)], &[], &[PLACE]);
        check_files(&[("a.rs", 120), ("b.rs", 130), ("c.rs", 500)], &[], &[]);
    }
}
