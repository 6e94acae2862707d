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

/// What `path` leads to when it stands in `module`.
pub(super) fn resolve<'a>(krate: &'a Crate, module: usize, path: &[String]) -> Target<'a> {
    follow(krate, module, path, &mut Vec::new())
}

fn follow<'a>(krate: &'a Crate, module: usize, path: &[String], followed: &mut Followed) -> Target<'a> {
    let Some((first, rest)) = path.split_first() else { return Target::Module(module) };
    let mut at = match &**first {
        "crate" => Target::Module(root_of(krate, module)),
        "self" => Target::Module(module),
        "super" => Target::Module(krate.modules[module].parent.unwrap_or(module)),
        name => match look_up(krate, module, name, !rest.is_empty(), followed) {
            Some(target) => target,
            None => return Target::Outside,
        },
    };
    for (index, name) in rest.iter().enumerate() {
        let Target::Module(module) = at else { return at };
        let is_prefix = index + 1 < rest.len();
        at = match &**name {
            "super" => Target::Module(krate.modules[module].parent.unwrap_or(module)),
            name => match look_up(krate, module, name, is_prefix, followed) {
                Some(target) => target,
                None => return at,
            },
        };
    }
    at
}

fn root_of(krate: &Crate, module: usize) -> usize {
    krate.modules[module].parent.map_or(module, |parent| root_of(krate, parent))
}

/// The item, module or import that `name` refers to in `module`. A prefix of a path is a child first; the end of
/// a path is an item or an import first (`pub use wait::wait` beside `mod wait`).
fn look_up<'a>(
    krate: &'a Crate,
    module: usize,
    name: &str,
    is_prefix: bool,
    followed: &mut Followed,
) -> Option<Target<'a>> {
    let here = &krate.modules[module];
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
    let found = look_up_imports(krate, module, name, is_prefix, followed);
    followed.pop();
    found.or(child)
}

fn look_up_imports<'a>(
    krate: &'a Crate,
    module: usize,
    name: &str,
    is_prefix: bool,
    followed: &mut Followed,
) -> Option<Target<'a>> {
    let imports = &krate.modules[module].imports;
    if let Some(import) = imports.iter().find(|import| import.name.as_deref() == Some(name)) {
        return Some(follow(krate, module, &import.path, followed));
    }
    imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
        match follow(krate, module, &import.path, followed) {
            Target::Module(target) if target != module => look_up(krate, target, name, is_prefix, followed),
            _ => None,
        }
    })
}
