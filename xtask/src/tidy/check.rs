//! Which rules there are, and running them all.

use std::path::Path;

use super::tree::{ReadError, Tree};
use super::{
    Finding, adr, architecture, commits, dependencies, file_names, fragments, heads, layers, length, limits,
    module_roots, mutations, panics, places, protocols, ratchets, sans_io, sleeps, unfinished, unsafety,
};

/// Every rule.
const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    layers::check,
    dependencies::check,
    sans_io::check,
    heads::check,
    module_roots::check,
    mutations::check,
    file_names::check,
    length::check,
    fragments::check,
    unsafety::check,
    panics::check,
    unfinished::check,
    sleeps::check,
    places::check,
    adr::check,
    architecture::check,
    limits::check,
    protocols::check,
    ratchets::check,
];

/// What the rules find in the checkout at `root`, in the order of its files.
pub fn check_checkout(root: &Path) -> Result<Vec<Finding>, ReadError> {
    let mut findings = check_tree(&Tree::read(root)?);
    findings.extend(commits::check(root));
    Ok(findings)
}

fn check_tree(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.retain(|finding| !tree.permits(&finding.path, finding.line, finding.rule));
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(permit: &str) -> usize {
        let text = format!("//! A test.\nfn f() {{\n    {permit}\n    std::thread::sleep(x);\n}}\n");
        check_tree(&Tree::of(&[("crates/hairstreak-base/tests/a.rs", &text)]))
            .iter()
            .filter(|finding| finding.rule == "sleeps")
            .count()
    }

    #[test]
    fn a_permit_holds_for_its_rule_and_with_a_reason_only() {
        assert_eq!(check(""), 1);
        assert_eq!(check("// tidy: allow(sleeps) the stage under test is a slow one"), 0);
        assert_eq!(check("// tidy: allow(sleeps)"), 1);
        assert_eq!(check("// tidy: allow(panics) the stage under test is a slow one"), 1);
    }
}
