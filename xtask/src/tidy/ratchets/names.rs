//! Resolves a path to the module that defines the item, through any number of re-exports.
//!
//! Follows the compiler as far as circles need it: `crate`, `self`, `super`, children, items,
//! imports and `*`. Macros that define items are not expanded; a path to such an item leads to the deepest
//! module on its way.

use super::krate::Crate;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target<'a> {
    /// A module of the crate, by index.
    Module(usize),
    /// The module that defines the item, and the item's name there.
    Item(usize, &'a str),
    /// Nothing in this crate: another crate, the standard library, a variable.
    Outside,
}

/// The imports that are being followed, by module and name: an import that leads back to itself ends there.
type Followed = Vec<(usize, String)>;

impl Crate {
    /// What `path` leads to when it stands in `module`.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Target<'_> {
        self.follow(module, path, &mut Vec::new())
    }

    fn follow(&self, module: usize, path: &[String], followed: &mut Followed) -> Target<'_> {
        let Some((first, rest)) = path.split_first() else { return Target::Module(module) };
        let mut at = match &**first {
            "crate" => Target::Module(self.root_of(module)),
            "self" => Target::Module(module),
            "super" => Target::Module(self.modules[module].parent.unwrap_or(module)),
            name => match self.look_up(module, name, !rest.is_empty(), followed) {
                Some(target) => target,
                None => return Target::Outside,
            },
        };
        for (index, name) in rest.iter().enumerate() {
            let Target::Module(module) = at else { return at };
            let is_prefix = index + 1 < rest.len();
            at = match &**name {
                "super" => Target::Module(self.modules[module].parent.unwrap_or(module)),
                name => match self.look_up(module, name, is_prefix, followed) {
                    Some(target) => target,
                    None => return at,
                },
            };
        }
        at
    }

    fn root_of(&self, module: usize) -> usize {
        self.modules[module].parent.map_or(module, |parent| self.root_of(parent))
    }

    /// What `name` means in `module`. A prefix of a path is a child before it is anything else; the end of
    /// a path is an item or an import first (`pub use wait::wait` beside `mod wait`).
    fn look_up(
        &self,
        module: usize,
        name: &str,
        is_prefix: bool,
        followed: &mut Followed,
    ) -> Option<Target<'_>> {
        let here = &self.modules[module];
        let child = here.children.get(name).map(|&child| Target::Module(child));
        if child.is_some() && is_prefix {
            return child;
        }
        if let Some(name) = here.items.get(name) {
            return Some(Target::Item(module, name));
        }
        let key = (module, name.to_owned());
        if followed.contains(&key) {
            return child;
        }
        followed.push(key);
        let found = self.look_up_imports(module, name, is_prefix, followed);
        followed.pop();
        found.or(child)
    }

    fn look_up_imports(
        &self,
        module: usize,
        name: &str,
        is_prefix: bool,
        followed: &mut Followed,
    ) -> Option<Target<'_>> {
        let imports = &self.modules[module].imports;
        if let Some(import) = imports.iter().find(|import| import.name.as_deref() == Some(name)) {
            return Some(self.follow(module, &import.path, followed));
        }
        imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
            match self.follow(module, &import.path, followed) {
                Target::Module(target) if target != module => self.look_up(target, name, is_prefix, followed),
                _ => None,
            }
        })
    }
}
