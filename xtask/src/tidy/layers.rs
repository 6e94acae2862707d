//! Rule `layers`: a crate depends on crates of lower layers only, never upwards or sideways.
//!
//! The layers are those of ARCHITECTURE.md. What serves development only (the test kit, xtask) may be
//! a dev-dependency of any crate.

use super::Finding;
use super::manifest::Manifest;
use super::tree::Tree;

/// Every crate and its layer.
const LAYERS: &[(&str, u8)] = &[
    ("hairstreak-base", 0),
    ("hairstreak-chart", 0),
    ("hairstreak-wire", 1),
    ("hairstreak-fabric", 1),
    ("hairstreak-transport", 2),
    ("hairstreak-store", 2),
    ("hairstreak-socket", 3),
    ("hairstreak-amqp", 3),
    ("hairstreak-broker", 3),
    ("hairstreak-model", 3),
    ("hairstreak-services", 4),
    ("hairstreak-process", 5),
    ("hairstreak", 6),
    ("hairstreak-node", 7),
    ("hairstreak-management", 8),
    ("hairstreak-bench", 9),
    ("hairstreak-cli", 9),
    ("hairstreak-python", 9),
];
/// The layer of examples: nothing stands above them.
const EXAMPLES: u8 = 10;
/// Crates that serve development only.
const DEVELOPMENT: &[&str] = &["hairstreak-testkit", "xtask"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = Manifest::all(tree);
    let members: Vec<&str> = manifests.iter().map(|manifest| &*manifest.name).collect();
    let mut findings = Vec::new();
    for manifest in manifests.iter().filter(|manifest| !is_outside(&manifest.file.path)) {
        if !manifest.has_workspace_lints {
            let advice = "add `[lints]` with `workspace = true`";
            findings.push(Finding::new(&manifest.file.path, 1, "layers", advice));
        }
        match layer_of(manifest) {
            Some(layer) => check_crate(manifest, layer, &members, &mut findings),
            None if DEVELOPMENT.contains(&&*manifest.name) => {}
            None => {
                let advice =
                    format!("give {} a layer in xtask/src/tidy/layers.rs and ARCHITECTURE.md", manifest.name);
                findings.push(Finding::new(&manifest.file.path, 1, "layers", advice));
            }
        }
    }
    findings
}

fn layer_of(manifest: &Manifest) -> Option<u8> {
    if manifest.file.path.starts_with("examples/") {
        return Some(EXAMPLES);
    }
    LAYERS.iter().find(|(name, _)| *name == manifest.name).map(|(_, layer)| *layer)
}

fn check_crate(manifest: &Manifest, layer: u8, members: &[&str], findings: &mut Vec<Finding>) {
    let is_below = |name: &str| LAYERS.iter().any(|(other, below)| *other == name && *below < layer);
    let kinds = [(&manifest.dependencies, false), (&manifest.dev_dependencies, true)];
    for (dependencies, is_dev) in kinds {
        for name in dependencies.iter().filter(|name| members.contains(&&***name)) {
            let serves_tests = is_dev && DEVELOPMENT.contains(&&**name);
            if !is_below(name) && !serves_tests {
                let advice = format!(
                    "{} (layer {layer}) may not depend on {name}: move what both need into a lower layer",
                    manifest.name
                );
                findings.push(Finding::new(&manifest.file.path, manifest.line_of(name), "layers", advice));
            }
        }
    }
}

/// Whether the manifest is of a workspace of its own, for tests only.
fn is_outside(path: &str) -> bool {
    ["fuzz/", "interop/"].iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}")
    }

    fn check_wire(rest: &str) -> Vec<usize> {
        let files = [
            ("crates/hairstreak-wire/Cargo.toml", manifest("hairstreak-wire", rest)),
            ("crates/hairstreak-base/Cargo.toml", manifest("hairstreak-base", "")),
            ("crates/hairstreak-fabric/Cargo.toml", manifest("hairstreak-fabric", "")),
            ("crates/hairstreak-socket/Cargo.toml", manifest("hairstreak-socket", "")),
            ("crates/hairstreak-testkit/Cargo.toml", manifest("hairstreak-testkit", "")),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        check(&Tree::of(&files)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_dependency_downwards_is_well() {
        assert_eq!(check_wire("[dependencies]\nhairstreak-base.workspace = true\nserde = \"1\"\n"), []);
    }

    #[test]
    fn a_dependency_upwards_or_sideways_is_found() {
        assert_eq!(check_wire("[dependencies]\nhairstreak-socket.workspace = true\n"), [6]);
        assert_eq!(check_wire("[dependencies]\nhairstreak-fabric.workspace = true\n"), [6]);
        assert_eq!(check_wire("[dev-dependencies]\nhairstreak-socket.workspace = true\n"), [6]);
    }

    #[test]
    fn the_test_kit_serves_tests_only() {
        assert_eq!(check_wire("[dev-dependencies]\nhairstreak-testkit.workspace = true\n"), []);
        assert_eq!(check_wire("[dependencies]\nhairstreak-testkit.workspace = true\n"), [6]);
    }

    #[test]
    fn a_crate_without_a_layer_or_the_workspace_lints_is_found() {
        assert_eq!(check(&Tree::of(&[("crates/a/Cargo.toml", &manifest("a", ""))])).len(), 1);
        assert_eq!(check(&Tree::of(&[("examples/a/Cargo.toml", &manifest("a", ""))])).len(), 0);
        assert_eq!(check(&Tree::of(&[("examples/a/Cargo.toml", "[package]\nname = \"a\"\n")])).len(), 1);
    }
}
