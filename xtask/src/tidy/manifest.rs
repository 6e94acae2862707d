//! `Manifest`: what the rules need of a Cargo.toml.

use super::tree::{File, Tree};

/// A package's manifest.
pub(super) struct Manifest<'a> {
    pub(super) file: &'a File,
    pub(super) name: String,
    /// Of every kind but the dev-dependencies, targets' own included.
    pub(super) dependencies: Vec<String>,
    pub(super) dev_dependencies: Vec<String>,
    pub(super) has_workspace_lints: bool,
}

impl Manifest<'_> {
    /// The manifests of the workspace's packages; one that is no TOML is left to cargo, which refuses it.
    pub(super) fn all(tree: &Tree) -> Vec<Manifest<'_>> {
        tree.files.iter().filter(|file| file.name() == "Cargo.toml").filter_map(Manifest::of).collect()
    }

    fn of(file: &File) -> Option<Manifest<'_>> {
        let table: toml::Table = file.text.parse().ok()?;
        let name = table.get("package")?.get("name")?.as_str()?.to_owned();
        let has_workspace_lints = table
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .and_then(toml::Value::as_bool)
            .unwrap_or_default();
        let mut manifest = Manifest {
            file,
            name,
            dependencies: Vec::new(),
            dev_dependencies: Vec::new(),
            has_workspace_lints,
        };
        manifest.take_dependencies(&table);
        for target in
            table.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values)
        {
            target.as_table().into_iter().for_each(|target| manifest.take_dependencies(target));
        }
        Some(manifest)
    }

    fn take_dependencies(&mut self, table: &toml::Table) {
        let names = |section: &str| {
            let section = table.get(section).and_then(toml::Value::as_table);
            section.into_iter().flat_map(toml::Table::keys).cloned().collect::<Vec<String>>()
        };
        self.dependencies.extend(names("dependencies"));
        self.dependencies.extend(names("build-dependencies"));
        self.dev_dependencies.extend(names("dev-dependencies"));
    }

    /// The line, counted from 1, that first names `dependency`.
    pub(super) fn line_of(&self, dependency: &str) -> usize {
        let names = |line: &str| {
            let rest = line.trim_start().strip_prefix(dependency);
            rest.is_some_and(|rest| rest.starts_with([' ', '=', '.']))
        };
        self.file.text.lines().position(names).map_or(1, |index| index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_kind_are_read() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n[target.'cfg(loom)'.dependencies]\nloom.version = \"1\"\n\
                    [dev-dependencies]\nc = { workspace = true }\n[lints]\nworkspace = true\n";
        let tree = Tree::of(&[("crates/a/Cargo.toml", text), ("Cargo.toml", "[workspace]\n")]);
        let manifests = Manifest::all(&tree);
        assert_eq!(manifests.len(), 1);
        assert_eq!((&*manifests[0].name, manifests[0].has_workspace_lints), ("a", true));
        assert_eq!(manifests[0].dependencies, ["b", "loom"]);
        assert_eq!(manifests[0].dev_dependencies, ["c"]);
        assert_eq!((manifests[0].line_of("loom"), manifests[0].line_of("c")), (6, 8));
    }
}
