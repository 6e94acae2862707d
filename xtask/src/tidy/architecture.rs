//! Rule `architecture`: every path that ARCHITECTURE.md names exists.
//!
//! A path begins with the short name of its crate: `socket/src/sending.rs` is `crates/hairstreak-socket/src/sending.rs`.

use super::Finding;
use super::tree::Tree;

const PAGE: &str = "ARCHITECTURE.md";
/// The folders of a crate that the page names.
const FOLDERS: &[&str] = &["src", "tests", "examples", "benches"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.text_of(PAGE).unwrap_or_default();
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in line.split('`').skip(1).step_by(2) {
            if let Some(path) = full_path(word)
                && !exists(tree, &path)
            {
                let advice = format!("{path} does not exist: name the file as it is called now");
                findings.push(Finding::new(PAGE, index + 1, "architecture", advice));
            }
        }
    }
    findings
}

/// The path from the root of the checkout, if the word is a path.
fn full_path(word: &str) -> Option<String> {
    let (name, rest) = word.split_once('/')?;
    let is_path = FOLDERS.iter().any(|folder| rest.starts_with(&format!("{folder}/")));
    let folder = if name == "hairstreak" { name.to_owned() } else { format!("hairstreak-{name}") };
    match word.strip_prefix("crates/").or(word.strip_prefix("examples/")) {
        Some(_) => Some(word.to_owned()),
        None => is_path.then(|| format!("crates/{folder}/{rest}")),
    }
}

fn exists(tree: &Tree, path: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    tree.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_gone_is_found() {
        let page = "see `wire/src/a.rs`, `wire/src/`, `wire/src/b/`\n`hairstreak/src/c.rs` and `PUSH`, `a/b`\n`crates/hairstreak-wire/src/d.rs`";
        let tree = Tree::of(&[
            (PAGE, page),
            ("crates/hairstreak-wire/src/a.rs", ""),
            ("crates/hairstreak/src/lib.rs", ""),
        ]);
        let lines: Vec<usize> = check(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }
}
