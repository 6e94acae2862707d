//! Rule `module_roots`: `lib.rs` and `mod.rs` hold docs, `mod` lines and re-exports, no logic.

use super::Finding;
use super::code::Code;
use super::tree::Tree;

/// The words that begin an item which belongs into a file of its own.
const ITEMS: &[&str] = &[
    "fn",
    "impl",
    "struct",
    "enum",
    "union",
    "trait",
    "const",
    "static",
    "type",
    "macro_rules",
    "async",
    "unsafe",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let roots =
        tree.files.iter().filter(|file| matches!(file.name(), "lib.rs" | "mod.rs") && !file.is_test());
    let mut findings = Vec::new();
    for file in roots {
        for (number, line) in Code::of(&file.text, false).product_lines() {
            if let Some(item) = item_begun_by(&line.code) {
                let advice = format!("move this `{item}` into a file named after it and re-export it here");
                findings.push(Finding::new(&file.path, number, "module_roots", advice));
            }
        }
    }
    findings
}

fn item_begun_by(code: &str) -> Option<&'static str> {
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let first = words.find(|word| !matches!(*word, "pub" | "crate" | "super" | "in"))?;
    ITEMS.iter().copied().find(|item| *item == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn logic_in_a_module_root_is_found() {
        let text = "//! fn.\nmod a;\npub(crate) fn b() {}\nimpl A {}\npub use a::fn_type;\n";
        assert_eq!(lines_found("crates/a/src/lib.rs", text), [3, 4]);
        assert_eq!(lines_found("crates/a/src/b/mod.rs", text), [3, 4]);
        assert_eq!(lines_found("crates/a/src/b.rs", text), []);
    }

    #[test]
    fn tests_may_stand_in_a_module_root() {
        assert_eq!(lines_found("lib.rs", "mod a;\n#[cfg(test)]\nmod tests {\n    fn a() {}\n}\n"), []);
    }
}
