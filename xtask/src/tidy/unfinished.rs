//! Rule `unfinished`: nothing is left for later in the source, and every test runs and asserts.

use super::Finding;
use super::code::Code;
use super::tree::{File, Tree};

/// Words that mark unfinished work, in code or comments.
const MARKERS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];
/// Rust code that is a hole or a test that does not test, and what to do instead.
const HOLES: &[(&str, &str)] = &[
    ("todo!(", "write it"),
    ("unimplemented!(", "write it"),
    ("#[ignore", "run the test always, or lengthen it under HAIRSTREAK_SOAK"),
    ("#[should_panic", "assert on the error that is returned"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter() {
        match file.path.rsplit('.').next() {
            Some("rs") => check_rust(file, &mut findings),
            Some("py" | "toml" | "sh") => check_text(file, &mut findings),
            _ if file.path.starts_with("scripts/") || file.name() == "Makefile" => {
                check_text(file, &mut findings)
            }
            _ => {}
        }
    }
    findings
}

fn check_rust(file: &File, findings: &mut Vec<Finding>) {
    for (number, line) in Code::of(&file.text, false).numbered() {
        if let Some(marker) = marker_in(&line.code).or_else(|| marker_in(&line.comment)) {
            findings.push(left(file, number, marker));
        }
        for (hole, advice) in HOLES.iter().filter(|(hole, _)| line.code.contains(hole)) {
            findings.push(Finding::new(&file.path, number, "unfinished", format!("no `{hole}`: {advice}")));
        }
    }
}

fn check_text(file: &File, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        if let Some(marker) = marker_in(line) {
            findings.push(left(file, index + 1, marker));
        }
        if line.contains("mark.skip") {
            let advice = "run the test always, or fail with what is missing";
            findings.push(Finding::new(&file.path, index + 1, "unfinished", advice));
        }
    }
}

fn left(file: &File, number: usize, marker: &str) -> Finding {
    let advice = format!("no {marker} in the source: do it now, or write it into docs/next.md");
    Finding::new(&file.path, number, "unfinished", advice)
}

fn marker_in(text: &str) -> Option<&'static str> {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.find_map(|word| MARKERS.iter().copied().find(|marker| *marker == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unfinished_work_is_found() {
        assert_eq!(lines_found("a.rs", "// TODO: more\ntodo!()\nlet a = \"TODO\"; // TODOS\n"), [1, 2]);
        assert_eq!(lines_found("a.py", "# FIXME\n@pytest.mark.skip\n"), [1, 2]);
        assert_eq!(lines_found("Makefile", "run:\n# XXX\n"), [2]);
        assert_eq!(lines_found("a.md", "TODO"), []);
    }

    #[test]
    fn tests_that_do_not_test_are_found() {
        assert_eq!(
            lines_found("a.rs", "#[test]\n#[ignore]\n#[should_panic(expected = \"a\")]\nfn a() {}\n"),
            [2, 3]
        );
    }
}
