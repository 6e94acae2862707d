//! Rule `protocols`: the crates below the protocols name none of them, in code, comments or tests.
//!
//! Buffers, streams and event loops serve any protocol. A protocol hands them what it needs, such as how to
//! cut a message out of a read, as an argument.

use super::Finding;
use super::tree::Tree;

const CRATES: &[&str] = &["hairstreak-base", "hairstreak-transport"];
/// In lower case; in the source the case does not matter.
const PROTOCOLS: &[&str] = &["zmtp", "amqp", "mdp", "majordomo"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| CRATES.contains(&file.crate_name())) {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            if let Some(name) = PROTOCOLS.iter().find(|name| line.contains(*name)) {
                let advice = format!(
                    "no `{name}` here: move what knows it into the protocol's crate, which hands it in"
                );
                findings.push(Finding::new(&file.path, index + 1, "protocols", advice));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_below_the_protocols_is_found_wherever_it_is_named() {
        let text = "//! Reads.\n/// As in Zmtp.\nfn cut_amqp() {}\nfn cut() {}\n#[cfg(test)]\nmod MdpTests {}\nlet a = \"MAJORDOMO\";\n";
        let found = |path: &str| -> Vec<usize> {
            check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
        };
        assert_eq!(found("crates/hairstreak-base/src/a.rs"), [2, 3, 6, 7]);
        assert_eq!(found("crates/hairstreak-transport/tests/a.rs"), [2, 3, 6, 7]);
        assert_eq!(found("crates/hairstreak-wire/src/a.rs"), []);
    }
}
