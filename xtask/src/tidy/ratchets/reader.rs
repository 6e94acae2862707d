//! Reads the source of a crate into its modules, from a root file (`lib.rs`, `main.rs`) along its `mod` lines.
//!
//! Macros are read as tokens: a path in their arguments is a mention like any other.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    Field, Fields, ImplItem, Item, ItemEnum, ItemImpl, ItemMod, ItemStruct, ItemTrait, ItemUnion, ItemUse,
    Macro, Path, Type, UseTree, VisRestricted, Visibility,
};

use super::super::tree::{File, Tree};
use super::item;
use super::krate::{self, Crate, Import, Mention, Module};

/// The crates of the checkout.
pub(super) fn crates(tree: &Tree) -> Vec<Crate> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| !file.is_test()) {
        if let Some(folder) = folder_of_root(&file.path) {
            let new = || Crate::new(file.crate_name().to_owned(), folder.to_owned());
            read_root(tree, file, crates.entry(folder).or_insert_with(new));
        }
    }
    crates.into_values().collect()
}

/// The `src` folder of the crate whose library or program begins at `path`, with a `/` behind it.
fn folder_of_root(path: &str) -> Option<&str> {
    let (folder, file) = path.split_at(path.find("src/")? + "src/".len());
    let is_crate = folder == "xtask/src/" || folder.starts_with("crates/") || folder.starts_with("examples/");
    let program = file.strip_prefix("bin/").unwrap_or("");
    let is_root = matches!(file, "lib.rs" | "main.rs") || program.ends_with(".rs") && !program.contains('/');
    (is_crate && is_root).then_some(folder)
}

/// Adds the modules of the library or program that begins with the file `root`.
fn read_root(tree: &Tree, root: &File, krate: &mut Crate) {
    let module = krate.modules.len();
    krate.modules.push(Module { file: krate.files.len(), ..Module::default() });
    let folder = root.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    Reader { tree, krate, module, folder }.read_file(root);
}

/// Reads one module after the other.
struct Reader<'a> {
    tree: &'a Tree,
    krate: &'a mut Crate,
    /// The module that is being read.
    module: usize,
    /// The folder of its children's files.
    folder: String,
}

impl Reader<'_> {
    fn read_file(&mut self, file: &File) {
        let name = file.path.strip_prefix(&self.krate.folder).unwrap_or(&file.path);
        self.krate.files.push(name.to_owned());
        match syn::parse_file(&file.text) {
            Ok(source) => self.visit_file(&source),
            Err(error) => {
                let line = error.span().start().line;
                self.krate.unreadable.push((file.path.clone(), line, error.to_string()));
            }
        }
    }

    fn current(&mut self) -> &mut Module {
        &mut self.krate.modules[self.module]
    }

    fn mention(&mut self, path: Vec<String>, line: usize) {
        if !path.is_empty() {
            self.current().mentions.push(Mention { path, line });
        }
    }

    fn define(&mut self, name: &syn::Ident, fields: usize, methods: usize, shell_of: Option<Vec<String>>) {
        let (name, line) = (name.to_string(), name.span().start().line);
        self.krate.types.push(krate::Type { module: self.module, name, line, fields, methods, shell_of });
    }

    /// Takes the names of a `use` line, `above` being the part of the path that leads to `tree`.
    fn import(&mut self, above: &[String], tree: &UseTree, is_reexport: bool) {
        let below = |name: &syn::Ident| {
            // `a::{self}` is `a`.
            let name = (name != "self" || above.is_empty()).then(|| name.to_string());
            above.iter().cloned().chain(name).collect::<Vec<String>>()
        };
        let (path, name, line) = match tree {
            UseTree::Path(tree) => return self.import(&below(&tree.ident), &tree.tree, is_reexport),
            UseTree::Group(tree) => {
                return tree.items.iter().for_each(|item| self.import(above, item, is_reexport));
            }
            UseTree::Name(tree) => {
                let path = below(&tree.ident);
                let name = path.last().cloned();
                (path, name, tree.ident.span().start().line)
            }
            UseTree::Rename(tree) => {
                (below(&tree.ident), Some(tree.rename.to_string()), tree.ident.span().start().line)
            }
            UseTree::Glob(tree) => (above.to_vec(), None, tree.star_token.span.start().line),
        };
        self.current().imports.push(Import { name, path, is_reexport, line });
    }

    /// Mentions the paths among the tokens of a macro.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut line) = (Vec::new(), 0);
        // How many colons or dots stand right before the token.
        let (mut colons, mut dots) = (0, 0);
        for token in tokens {
            let (colons_before, dots_before) = (std::mem::take(&mut colons), std::mem::take(&mut dots));
            match token {
                TokenTree::Ident(name) => {
                    if colons_before != 2 {
                        self.mention(std::mem::take(&mut path), line);
                        line = name.span().start().line;
                    }
                    // Behind one dot stands a field or a method.
                    if dots_before != 1 {
                        path.push(name.to_string());
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons = colons_before + 1,
                TokenTree::Punct(mark) if mark.as_char() == '.' => dots = dots_before + 1,
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                TokenTree::Group(group) => self.read_tokens(group.stream()),
            }
        }
        self.mention(path, line);
    }

    /// Reads the file of the current module, `stem` being its path without an ending; cargo refuses a
    /// module without a file.
    fn read_module(&mut self, stem: &str) {
        let (tree, paths) = (self.tree, [format!("{stem}.rs"), format!("{stem}/mod.rs")]);
        if let Some(file) = tree.files.iter().find(|file| paths.contains(&file.path) && !file.is_test()) {
            self.current().file = self.krate.files.len();
            self.read_file(file);
        }
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        if item::is_for_tests(item::attributes(item)) {
            return;
        }
        if let Some(name) = item::name(item) {
            self.current().items.insert(name.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        let (parent, above, name) = (self.module, self.folder.clone(), item.ident.to_string());
        let (child, file) = (self.krate.modules.len(), self.current().file);
        self.krate.modules.push(Module { file, parent: Some(parent), ..Module::default() });
        self.current().children.insert(name.clone(), child);
        self.module = child;
        self.folder = format!("{above}/{name}");
        match &item.content {
            Some((_, items)) => items.iter().for_each(|item| self.visit_item(item)),
            None => self.read_module(&format!("{above}/{name}")),
        }
        (self.module, self.folder) = (parent, above);
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        // `::a` is another crate.
        if item.leading_colon.is_none() {
            self.import(&[], &item.tree, !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        let fields = item.fields.iter().filter(|field| !item::is_for_tests(&field.attrs)).count();
        self.define(&item.ident, fields, 0, borrowed(&item.fields));
        visit::visit_item_struct(self, item);
    }

    fn visit_item_union(&mut self, item: &'a ItemUnion) {
        self.define(&item.ident, item.fields.named.len(), 0, None);
        visit::visit_item_union(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a ItemEnum) {
        self.define(&item.ident, 0, 0, None);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        let methods = item.items.iter().filter(|item| item::is_trait_method(item)).count();
        self.define(&item.ident, 0, methods, None);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        if let (None, Type::Path(path)) = (&item.trait_, &*item.self_ty) {
            let methods = item.items.iter().filter(|item| item::is_impl_method(item)).count();
            let (path, line) = (segments(&path.path), line_of(&path.path));
            self.krate.impls.push(krate::Impl { module: self.module, path, line, methods });
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        if !matches!(item, ImplItem::Fn(method) if item::is_for_tests(&method.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'a Field) {
        if !item::is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_path(&mut self, path: &'a Path) {
        if path.leading_colon.is_none() {
            self.mention(segments(path), line_of(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.visit_path(&call.path);
        self.read_tokens(call.tokens.clone());
    }

    // The scope of a visibility uses nothing.
    fn visit_vis_restricted(&mut self, _: &'a VisRestricted) {}
}

/// Returns the type that the only field borrows.
fn borrowed(fields: &Fields) -> Option<Vec<String>> {
    let mut fields = fields.iter().filter(|field| !item::is_for_tests(&field.attrs));
    match (fields.next().map(|field| &field.ty), fields.next()) {
        (Some(Type::Reference(reference)), None) => match &*reference.elem {
            Type::Path(path) => Some(segments(&path.path)),
            _ => None,
        },
        _ => None,
    }
}

fn segments(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn line_of(path: &Path) -> usize {
    path.segments.first().map_or(1, |segment| segment.ident.span().start().line)
}
