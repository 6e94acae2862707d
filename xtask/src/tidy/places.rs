//! Rule `places`: no file names a directory of somebody's machine or the host of a package registry.

use super::Finding;
use super::tree::Tree;

/// Beginnings of paths that exist on one machine only.
const HOMES: &[&str] = &["/home/", "/root/", "/Users/", "/work/"];
/// Hosts that an ordinary client of a registry knows by itself.
const REGISTRIES: &[&str] = &[
    "crates.io",
    "static.rust-lang.org",
    "pypi.org",
    "pythonhosted.org",
    "registry.npmjs.org",
    "proxy.golang.org",
    "deb.debian.org",
];
/// Files that a registry's client writes by itself, and this one.
const EXEMPT: &[&str] =
    &["Cargo.lock", "fuzz/Cargo.lock", "interop/lapin/Cargo.lock", "xtask/src/tidy/places.rs"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !EXEMPT.contains(&&*file.path)) {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(place) = HOMES.iter().find(|home| names_path(line, home)) {
                let advice = format!(
                    "{place}... exists on one machine: use a relative path, or an environment variable"
                );
                findings.push(Finding::new(&file.path, index + 1, "places", advice));
            }
            if let Some(host) = REGISTRIES.iter().find(|host| line.contains(*host)) {
                let advice = format!("leave {host} to the registry's own client");
                findings.push(Finding::new(&file.path, index + 1, "places", advice));
            }
        }
    }
    findings
}

/// Whether the line has a path that begins with `home`, rather than one that has it in its middle.
fn names_path(line: &str, home: &str) -> bool {
    line.match_indices(home)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}~".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        assert_eq!(
            lines_found("a.md", "cd /home/me/a\ncd ./work/a\ncd target/work/a\n\"/work/a\"\n"),
            [1, 4]
        );
    }

    #[test]
    fn a_registry_host_is_found() {
        let text = "see https://crates.io/crates/a\n";
        assert_eq!(lines_found("docs/a.md", text), [1]);
        assert_eq!(lines_found("Cargo.lock", text), []);
    }
}
