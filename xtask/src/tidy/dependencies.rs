//! Rule `dependencies`: each crate from outside was chosen, and docs/adr/0006-dependencies.md says why.

use super::Finding;
use super::manifest::Manifest;
use super::tree::Tree;

const RECORD: &str = "docs/adr/0006-dependencies.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = Manifest::all(tree);
    let members: Vec<&str> = manifests.iter().map(|manifest| &*manifest.name).collect();
    let record = tree.text_of(RECORD).unwrap_or_default();
    let mut findings = Vec::new();
    for manifest in &manifests {
        for name in manifest.dependencies.iter().chain(&manifest.dev_dependencies) {
            if !members.contains(&&**name) && !record.contains(&format!("`{name}`")) {
                let advice = format!("do without {name}, or say in {RECORD} why it earns its place");
                findings.push(Finding::new(
                    &manifest.file.path,
                    manifest.line_of(name),
                    "dependencies",
                    advice,
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_nobody_decided_on_is_found() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\nleft-pad = \"1\"\n";
        let tree = Tree::of(&[("crates/a/Cargo.toml", manifest), (RECORD, "- `serde`: reads files\n")]);
        assert_eq!(check(&tree).iter().map(|finding| finding.line).collect::<Vec<_>>(), [5]);
    }
}
