//! `Crate`: the modules of one crate and what each defines, imports and mentions, without its tests.
//!
//! Invariants: a module comes after its parent; an inline module (`mod a { ... }`) belongs to the file that
//! holds it.

use std::collections::{BTreeMap, BTreeSet};

/// The product code of one crate.
pub(super) struct Crate {
    /// The crate's name, as the layers have it.
    pub(super) name: String,
    /// The `src` folder, relative to the checkout, with a `/` behind it.
    pub(super) folder: String,
    /// The files that hold the modules, relative to `folder`.
    pub(super) files: Vec<String>,
    pub(super) modules: Vec<Module>,
    pub(super) types: Vec<Type>,
    pub(super) impls: Vec<Impl>,
    /// Files that are no Rust: where, and in the parser's words why.
    pub(super) unreadable: Vec<(String, usize, String)>,
}

/// One module.
#[derive(Default)]
pub(super) struct Module {
    /// Index of the module's file.
    pub(super) file: usize,
    /// Index of the parent; `None` for the root of a library or a program.
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    /// Names of the items that the module defines.
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// The paths in the code, a single name being a path too.
    pub(super) mentions: Vec<Mention>,
}

/// One name of a `use` line.
pub(super) struct Import {
    /// The name in this module; `None` imports all names (`*`).
    pub(super) name: Option<String>,
    pub(super) path: Vec<String>,
    /// Whether other modules may import the name from here (`pub use`, `pub(crate) use`).
    pub(super) is_reexport: bool,
    pub(super) line: usize,
}

/// A path in code.
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// The definition of a struct, an enum, a union or a trait.
pub(super) struct Type {
    pub(super) module: usize,
    pub(super) name: String,
    pub(super) line: usize,
    /// The fields of a struct or a union.
    pub(super) fields: usize,
    /// The methods of a trait.
    pub(super) methods: usize,
    /// The type that the only field borrows: such a type is a shell of that one.
    pub(super) shell_of: Option<Vec<String>>,
}

/// An `impl` block without a trait.
pub(super) struct Impl {
    pub(super) module: usize,
    /// The path of the type.
    pub(super) path: Vec<String>,
    pub(super) line: usize,
    pub(super) methods: usize,
}

impl Crate {
    pub(super) fn new(name: String, folder: String) -> Crate {
        Crate {
            name,
            folder,
            files: Vec::new(),
            modules: Vec::new(),
            types: Vec::new(),
            impls: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// The path of file `index`, relative to the checkout.
    pub(super) fn path(&self, index: usize) -> String {
        format!("{}{}", self.folder, self.files[index])
    }
}
