//! Rule `adr`: decision records are numbered without gaps, complete, and listed in docs/adr/README.md.

use super::Finding;
use super::tree::{File, Tree};

const FOLDER: &str = "docs/adr/";
const INDEX: &str = "docs/adr/README.md";
/// The sections that each record has.
const SECTIONS: &[&str] = &["## Options", "## Decision", "## Consequences"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut records: Vec<&File> =
        tree.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path != INDEX).collect();
    records.sort_by(|a, b| a.path.cmp(&b.path));
    let index = tree.text_of(INDEX).unwrap_or_default();
    let mut findings = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let number = format!("{:04}", position + 1);
        let mut found = |advice: String| findings.push(Finding::new(&record.path, 1, "adr", advice));
        if !record.name().starts_with(&format!("{number}-")) || !record.name().ends_with(".md") {
            found(format!("the next record is docs/adr/{number}-title.md"));
        }
        if !record.text.starts_with(&format!("# {number}: ")) {
            found(format!("the first line is `# {number}: Title`"));
        }
        for section in SECTIONS.iter().filter(|section| !record.text.lines().any(|line| line == **section)) {
            found(format!("a record has the section `{section}`"));
        }
        if !index.contains(&format!("({})", record.name())) {
            found(format!("list the record in {INDEX}"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "## Options\n## Decision\n## Consequences\n";

    fn check_records(index: &str, records: &[(&str, &str)]) -> usize {
        let paths: Vec<String> = records.iter().map(|(name, _)| format!("{FOLDER}{name}")).collect();
        let texts: Vec<String> = records.iter().map(|(_, title)| format!("{title}\n{GOOD}")).collect();
        let mut files = vec![(INDEX, index)];
        files.extend(paths.iter().zip(&texts).map(|(path, text)| (&**path, &**text)));
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn records_in_order_and_listed_are_well() {
        let index = "[a](0001-a.md) [b](0002-b.md)";
        assert_eq!(check_records(index, &[("0001-a.md", "# 0001: A"), ("0002-b.md", "# 0002: B")]), 0);
    }

    #[test]
    fn gaps_missing_entries_and_wrong_titles_are_found() {
        assert_eq!(check_records("[a](0002-a.md)", &[("0002-a.md", "# 0001: A")]), 1);
        assert_eq!(check_records("", &[("0001-a.md", "# 0001: A")]), 1);
        assert_eq!(check_records("[a](0001-a.md)", &[("0001-a.md", "# A")]), 1);
    }

    #[test]
    fn a_record_without_its_decision_is_found() {
        let tree = Tree::of(&[
            (INDEX, "(0001-a.md)"),
            ("docs/adr/0001-a.md", "# 0001: A\n## Options\n## Consequences\n"),
        ]);
        assert_eq!(check(&tree).len(), 1);
    }
}
