//! Rule `panics`: outside tests `unwrap` and `expect` say which invariant makes them safe, and nothing is called
//! that panics where the system refuses: a thread, a line of output, an argument that is not UTF-8.

use super::Finding;
use super::code::Code;
use super::tree::{File, Tree};

/// How many lines above a call its invariant may stand.
const REACH: usize = 3;
/// What panics where the system refuses, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("thread::spawn(", "use `thread::Builder::spawn`: there may be no room for a thread"),
    ("print!(", "use `write!` and decide: standard output may be closed or full"),
    ("println!(", "use `writeln!` and decide: standard output or error may be closed or full"),
    ("env::args()", "use `env::args_os`: an argument may hold any bytes"),
];
/// Tools of this checkout, which nobody else runs.
const TOOLS: &[&str] = &[
    "crates/hairstreak-bench/",
    "crates/hairstreak-node/examples/",
    "crates/hairstreak-socket/examples/",
    "xtask/",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending_in(".rs") {
        let code = Code::of(&file.text, file.is_test());
        for (number, line) in code.product_lines() {
            let mut found = |advice| findings.push(Finding::new(&file.path, number, "panics", advice));
            let panics = line.code.contains(".unwrap()") || line.code.contains(".expect(");
            if panics && !code.says_near(number, REACH, "INVARIANT:") {
                found("return the error, or say in an `// INVARIANT:` line above why it cannot happen");
            }
            if let Some(advice) = refused(file, &line.code) {
                found(advice);
            }
        }
    }
    findings
}

fn refused(file: &File, code: &str) -> Option<&'static str> {
    let is_tool = TOOLS.iter().any(|tool| file.path.starts_with(tool));
    let (_, advice) = REFUSED.iter().find(|(call, _)| !is_tool && code.contains(call))?;
    Some(advice)
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
    fn what_panics_where_the_system_refuses_is_found() {
        let text = "std::thread::spawn(a);\neprintln!();\nprint!(a);\nstd::env::args();\nwriteln!(a);\n\
                    thread::Builder::new().spawn(a);\nstd::env::args_os();\n/// println!(a)\n";
        assert_eq!(lines_found("crates/a/src/a.rs", text), [1, 2, 3, 4]);
        assert_eq!(lines_found("examples/a/src/a.rs", text), [1, 2, 3, 4]);
        assert_eq!(lines_found("xtask/src/a.rs", text), []);
    }

    #[test]
    fn tests_may_panic() {
        assert_eq!(lines_found("crates/a/tests/a.rs", "a.unwrap();\nprintln!();\n"), []);
        assert_eq!(lines_found("crates/a/src/a.rs", "#[cfg(test)]\nmod tests {\n    a.unwrap();\n}\n"), []);
    }
}
