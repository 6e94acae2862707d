//! Rule `sleeps`: a test waits for what it is about, never for time to pass.

use super::Finding;
use super::code::Code;
use super::tree::Tree;

const SLEEPS: &[&str] = &["thread::sleep(", "time::sleep(", "sleep_ms("];

/// The beginnings of waits that stand where a test has one of its own.
const COPIES: &[&str] = &["fn until(", "fn until<", "fn wait_until("];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let (mut findings, mut copies) = (Vec::new(), Vec::new());
    let mut found = |path: &str, number: usize| {
        let advice = "wait for the condition itself (a reply, a ready peer, a channel), not for time to pass";
        findings.push(Finding::new(path, number, "sleeps", advice));
    };
    for file in tree.ending_in(".rs") {
        for (number, line) in Code::of(&file.text, file.is_test()).numbered() {
            if line.is_test && SLEEPS.iter().any(|sleep| line.code.contains(sleep)) {
                found(&file.path, number);
            }
            let is_copy = COPIES.iter().any(|copy| line.code.contains(copy));
            if line.is_test && is_copy && !file.path.starts_with("crates/hairstreak-testkit/") {
                let advice = "wait with `until` of the test kit: there is one";
                copies.push(Finding::new(&file.path, number, "sleeps", advice));
            }
        }
    }
    for file in tree.ending_in(".py").filter(|file| file.is_test()) {
        for (index, _) in file.text.lines().enumerate().filter(|(_, line)| line.contains("time.sleep(")) {
            found(&file.path, index + 1);
        }
    }
    findings.extend(copies);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_sleep_in_a_test_is_found() {
        let text = "std::thread::sleep(a);\n#[cfg(test)]\nmod tests {\n    thread::sleep(a);\n}\n";
        assert_eq!(lines_found("crates/a/src/a.rs", text), [4]);
        assert_eq!(lines_found("crates/a/tests/a.rs", text), [1, 4]);
        assert_eq!(lines_found("crates/a/tests/a.py", "import time\ntime.sleep(1)\n"), [2]);
    }

    #[test]
    fn a_wait_of_its_own_is_found_in_a_test() {
        let text = "fn until(what: &str) {}\nfn wait_until_gone() {}\n";
        assert_eq!(lines_found("crates/a/tests/a.rs", text), [1]);
        assert_eq!(lines_found("crates/hairstreak-testkit/src/until.rs", text), [] as [usize; 0]);
    }
}
