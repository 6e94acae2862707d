//! Rule `commits`: the subject of a commit is `area: imperative summary` in at most 72 characters.
//!
//! Merges and commits before `FIRST` do not count. A checkout without their history is not checked.

use std::path::Path;
use std::process::Command;

use super::Finding;

/// The last commit before the rule.
const FIRST: &str = "2afc3413";
const SUBJECT_MAX: usize = 72;

pub(super) fn check(root: &Path) -> Vec<Finding> {
    let range = format!("{FIRST}..HEAD");
    let log = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["log", "--no-merges", "--format=%h %s", &range])
        .output();
    let log = log.ok().filter(|log| log.status.success()).map(|log| log.stdout).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let commits = log.lines().filter_map(|line| line.split_once(' '));
    commits
        .filter_map(|(commit, subject)| fault(subject).map(|fault| finding(commit, subject, fault)))
        .collect()
}

fn finding(commit: &str, subject: &str, fault: &str) -> Finding {
    Finding::new("xtask/src/tidy/commits.rs", 1, "commits", format!("{commit} \"{subject}\": {fault}"))
}

fn fault(subject: &str) -> Option<&'static str> {
    let Some((area, summary)) = subject.split_once(": ") else {
        return Some("write `area: imperative summary`");
    };
    let is_area =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || " ,-_".contains(letter);
    if area.is_empty() || !area.chars().all(is_area) {
        Some("the area is one or several lower-case words")
    } else if !is_summary(summary) {
        Some("the summary begins with a lower-case word or an abbreviation and ends without a period")
    } else if subject.chars().count() > SUBJECT_MAX {
        Some("the subject has more than 72 characters")
    } else {
        None
    }
}

fn is_summary(summary: &str) -> bool {
    let is_abbreviation = |word: &str| word.chars().skip(1).any(|letter| !letter.is_lowercase());
    let word = summary.split(' ').next().unwrap_or_default();
    (word.starts_with(char::is_lowercase) || is_abbreviation(word)) && !summary.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn subjects_have_an_area_and_a_short_summary() {
        assert_eq!(fault("map: reap zombie children before the end"), None);
        assert_eq!(fault("docs, node: name the limits of a channel"), None);
        assert_eq!(fault("wire: HSN1 by its name"), None);
        let long = format!("node: {}", "a".repeat(67));
        for subject in
            ["reap children", "Map: reap children", "map: Reap children", "map: reap children.", &long]
        {
            assert!(fault(subject).is_some(), "{subject}");
        }
    }
}
