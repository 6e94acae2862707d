//! Small questions about syntax that `syn` leaves to its users.

use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, ImplItem, Item, Meta, Token, TraitItem};

/// Whether the attributes limit what follows them to tests or to loom.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<Meta>().is_ok_and(|condition| requires_tests(&condition))
    })
}

/// Whether the condition of a `cfg` holds in tests or under loom only.
fn requires_tests(condition: &Meta) -> bool {
    let Meta::List(list) = condition else {
        return condition.path().is_ident("test") || condition.path().is_ident("loom");
    };
    let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default();
    if list.path.is_ident("all") {
        parts.iter().any(requires_tests)
    } else {
        list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(requires_tests)
    }
}

/// The attributes of an item.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item gives to what it defines; modules and imports are no definitions.
pub(super) fn name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::TraitAlias(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        _ => None,
    }
}

/// Whether the item of an `impl` is a method or another function, and no test.
pub(super) fn is_impl_method(item: &ImplItem) -> bool {
    matches!(item, ImplItem::Fn(method) if !is_for_tests(&method.attrs))
}

/// Whether the item of a `trait` is a method or another function.
pub(super) fn is_trait_method(item: &TraitItem) -> bool {
    matches!(item, TraitItem::Fn(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_test(source: &str) -> bool {
        let file = syn::parse_file(source).expect("the source is Rust");
        is_for_tests(attributes(&file.items[0]))
    }

    #[test]
    fn items_for_tests_are_told_from_product_code() {
        for source in [
            "#[test] fn a() {}",
            "#[cfg(test)] mod a;",
            "#[cfg(loom)] use a::b;",
            "#[cfg(all(test, not(loom)))] mod a {}",
        ] {
            assert!(is_test(source), "{source}");
        }
        for source in [
            "fn a() {}",
            "#[cfg(not(test))] mod a;",
            "#[cfg(any(test, feature = \"a\"))] mod a;",
            "#[cfg(feature = \"test\")] mod a;",
            "#[cfg_attr(test, derive(Debug))] struct A;",
        ] {
            assert!(!is_test(source), "{source}");
        }
    }
}
