//! How large the types of a crate are: methods and fields.
//!
//! The methods of a type are the functions of all its `impl` blocks without a trait, in whatever file. Trait
//! impls do not count: the trait prescribes their methods, and a reader of the trait knows them. A trait
//! has the functions of its own definition, so that methods cannot hide there.
//!
//! Types of one crate with the same name share a value, the larger. A comment `tidy: allow(methods)` or
//! `tidy: allow(fields)` with a reason exempts the type below it.

use std::collections::BTreeMap;

use super::super::tree::Tree;
use super::krate::Crate;
use super::names::{Target, resolve};

pub(super) const METHODS_MAX: usize = 40;
pub(super) const FIELDS_MAX: usize = 20;

/// A size of a type, and where the type is defined.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) value: usize,
    /// Index of the file in the crate.
    pub(super) file: usize,
    pub(super) line: usize,
}

/// The types with more methods than the house wants.
pub(super) fn methods(tree: &Tree, krate: &Crate) -> BTreeMap<String, Size> {
    let mut sizes: BTreeMap<(usize, &str), Size> = BTreeMap::new();
    for definition in &krate.types {
        let (value, line, file) =
            (definition.methods, definition.line, krate.modules[definition.module].file);
        sizes.insert((definition.module, &definition.name), Size { value, file, line });
    }
    for block in &krate.impls {
        let (module, name) = match resolve(krate, block.module, &block.path) {
            Target::Item(module, name) => (module, name),
            // A macro defines the type.
            _ => (block.module, block.path.last().map_or("", |name| name)),
        };
        let file = krate.modules[block.module].file;
        let size = sizes.entry((module, name)).or_insert(Size { value: 0, file, line: block.line });
        size.value += block.methods;
    }
    let shells = krate.types.iter().filter_map(|shell| Some((shell, shell.shell_of.as_ref()?)));
    for (shell, path) in shells {
        if let Target::Item(module, name) = resolve(krate, shell.module, path)
            && let Some(own) = sizes.get(&(shell.module, &*shell.name)).map(|size| size.value)
            && let Some(size) = sizes.get_mut(&(module, name))
        {
            size.value += own;
        }
    }
    largest(tree, krate, "methods", METHODS_MAX, sizes.into_iter().map(|((_, name), size)| (name, size)))
}

/// The inherent impl blocks of each type outside of the file of the type, if there are any.
pub(super) fn impls(tree: &Tree, krate: &Crate) -> BTreeMap<String, Size> {
    let mut sizes: BTreeMap<(usize, &str), Size> = BTreeMap::new();
    for block in &krate.impls {
        let file = krate.modules[block.module].file;
        if let Target::Item(module, name) = resolve(krate, block.module, &block.path)
            && krate.modules[module].file != file
        {
            let size = sizes.entry((module, name)).or_insert(Size { value: 0, file, line: block.line });
            size.value += 1;
        }
    }
    largest(tree, krate, "impls", 0, sizes.into_iter().map(|((_, name), size)| (name, size)))
}

/// The structs with more fields than the house wants.
pub(super) fn fields(tree: &Tree, krate: &Crate) -> BTreeMap<String, Size> {
    let sizes = krate.types.iter().map(|definition| {
        let file = krate.modules[definition.module].file;
        (&*definition.name, Size { value: definition.fields, file, line: definition.line })
    });
    largest(tree, krate, "fields", FIELDS_MAX, sizes)
}

/// For each name the largest size over `max` that no comment allows.
fn largest<'a>(
    tree: &Tree,
    krate: &Crate,
    rule: &str,
    max: usize,
    sizes: impl Iterator<Item = (&'a str, Size)>,
) -> BTreeMap<String, Size> {
    let mut largest: BTreeMap<String, Size> = BTreeMap::new();
    for (name, size) in sizes.filter(|(_, size)| size.value > max) {
        if !tree.permits(&krate.path(size.file), size.line, rule) {
            let kept = largest.entry(name.to_owned()).or_insert_with(|| size.clone());
            if size.value > kept.value {
                *kept = size;
            }
        }
    }
    largest
}
