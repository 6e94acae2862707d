//! Rule `panics`: `unwrap` and `expect` outside tests say which invariant makes them safe.

use super::Finding;
use super::code::Code;
use super::tree::Tree;

/// How many lines above a call its invariant may stand.
const REACH: usize = 3;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending_in(".rs") {
        let code = Code::of(&file.text, file.is_test());
        for (number, line) in code.product_lines() {
            let panics = line.code.contains(".unwrap()") || line.code.contains(".expect(");
            if panics && !code.says_near(number, REACH, "INVARIANT:") {
                let advice = "return the error, or say in an `// INVARIANT:` line above why it cannot happen";
                findings.push(Finding::new(&file.path, number, "panics", advice));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_panic_without_its_invariant_is_found() {
        let path = "crates/a/src/a.rs";
        assert_eq!(lines_found(path, "a.unwrap();\na.expect(\"b\");\na.unwrap_or(b);\n"), [1, 2]);
        assert_eq!(lines_found(path, "// INVARIANT: never empty.\na\n    .last()\n    .unwrap();\n"), []);
        assert_eq!(lines_found(path, "// INVARIANT: too far.\n\n\n\na.unwrap();\n"), [5]);
    }

    #[test]
    fn tests_may_panic() {
        assert_eq!(lines_found("crates/a/tests/a.rs", "a.unwrap();\n"), []);
        assert_eq!(lines_found("crates/a/src/a.rs", "#[cfg(test)]\nmod tests {\n    a.unwrap();\n}\n"), []);
    }
}
