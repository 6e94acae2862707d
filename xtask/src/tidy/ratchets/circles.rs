//! Circles: files of a crate that import each other, over however many steps.
//!
//! An import is a `use` line or a path in the code (`crate::a::B`, `super::B`, `a::B`), and it leads to the
//! file that defines the item: a re-export (`pub use`, `pub(crate) use`) is followed, and is no import
//! itself. A `mod` line is no import. Otherwise each `mod.rs` would be in a circle with its children, or
//! would hide the circles among them. The name of a module alone is no import either; the paths that
//! begin with the name are.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::krate::Crate;
use super::names::{Target, resolve};

/// Which file of a crate imports which, and the line where it does so first.
pub(super) struct Imports {
    edges: BTreeMap<usize, BTreeMap<usize, usize>>,
}

impl Imports {
    pub(super) fn of(krate: &Crate) -> Imports {
        let mut imports = Imports { edges: BTreeMap::new() };
        for (index, module) in krate.modules.iter().enumerate() {
            for import in module.imports.iter().filter(|import| !import.is_reexport) {
                match (resolve(krate, index, &import.path), &import.name) {
                    (Target::Item(target, _), _) | (Target::Module(target), None) => {
                        imports.add(module.file, krate.modules[target].file, import.line);
                    }
                    _ => {}
                }
            }
            for mention in &module.mentions {
                match resolve(krate, index, &mention.path) {
                    Target::Item(target, _) => {
                        imports.add(module.file, krate.modules[target].file, mention.line)
                    }
                    // An item that a macro defines. A single name is a variable with a module's name.
                    Target::Module(target) if mention.path.len() > 1 => {
                        imports.add(module.file, krate.modules[target].file, mention.line)
                    }
                    _ => {}
                }
            }
        }
        imports
    }

    fn add(&mut self, from: usize, to: usize, line: usize) {
        if from != to {
            let first = self.edges.entry(from).or_default().entry(to).or_insert(line);
            *first = line.min(*first);
        }
    }

    /// The circles (strongly connected components of more than one file), the largest first.
    pub(super) fn circles(&self) -> Vec<Vec<usize>> {
        let reached: BTreeMap<usize, BTreeSet<usize>> =
            self.edges.keys().map(|&file| (file, self.reached_from(file))).collect();
        let reaches = |from: usize, to: usize| reached.get(&from).is_some_and(|files| files.contains(&to));
        let mut circles = Vec::new();
        let mut seen = BTreeSet::new();
        for (&file, files) in &reached {
            if reaches(file, file) && !seen.contains(&file) {
                let circle: Vec<usize> =
                    files.iter().copied().filter(|&other| reaches(other, file)).collect();
                seen.extend(circle.iter().copied());
                circles.push(circle);
            }
        }
        circles.sort_by_key(|circle| (usize::MAX - circle.len(), circle[0]));
        circles
    }

    /// All files that `file` imports, directly or not; `file` itself if it is in a circle.
    fn reached_from(&self, file: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            next.extend(self.imported_by(file).filter(|&imported| reached.insert(imported)));
        }
        reached
    }

    fn imported_by(&self, file: usize) -> impl Iterator<Item = usize> {
        self.edges.get(&file).into_iter().flat_map(|imported| imported.keys().copied())
    }

    /// The imports among the files of `circle`: from, to and the line.
    pub(super) fn among(&self, circle: &[usize]) -> impl Iterator<Item = (usize, usize, usize)> {
        let all = self.edges.iter();
        let all = all.flat_map(|(&from, imported)| imported.iter().map(move |(&to, &line)| (from, to, line)));
        all.filter(move |(from, to, _)| circle.contains(from) && circle.contains(to))
    }

    /// The shortest circle that `file` is in, from `file` to `file`, and the line of its first import.
    pub(super) fn shortest_circle(&self, file: usize) -> Option<(Vec<usize>, usize)> {
        let mut ways: VecDeque<Vec<usize>> = VecDeque::from([vec![file]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop_front() {
            for imported in self.imported_by(*way.last()?) {
                let mut longer = way.clone();
                longer.push(imported);
                if imported == file {
                    let line = self.edges[&file][&longer[1]];
                    return Some((longer, line));
                }
                if seen.insert(imported) {
                    ways.push_back(longer);
                }
            }
        }
        None
    }
}
