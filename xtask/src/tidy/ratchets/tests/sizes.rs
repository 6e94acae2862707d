//! How methods and fields are counted.

use super::super::super::tree::Tree;
use super::super::measure::{self, Measure};

/// The methods and the fields recorded for a crate whose files are given with their paths below `src`.
fn check(files: &[(&str, &str)], methods: &[(&str, usize)], fields: &[(&str, usize)]) {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("crates/a/src/{path}")).collect();
    let files: Vec<(&str, &str)> =
        paths.iter().zip(files).map(|(path, (_, text))| (&**path, *text)).collect();
    let record = measure::record(&Measure::all(&Tree::of(&files)));
    for (sizes, expected) in [(record.methods, methods), (record.fields, fields)] {
        let found = sizes.get("a").into_iter().flatten().map(|(name, size)| (&**name, *size));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{files:?}");
    }
}

fn functions(names: std::ops::Range<usize>) -> String {
    names.map(|name| format!("fn f{name}() {{}}\n")).collect()
}

fn with_fields(count: usize) -> String {
    (0..count).map(|name| format!("f{name}: u8,\n")).collect()
}

#[test]
fn the_methods_of_a_type_are_those_of_all_its_impls() {
    let root = ("lib.rs", "mod b; mod c; pub use b::B;");
    let b = format!("pub struct B<T>;\nimpl<T> B<T> {{ const A: u8 = 1; {} }}", functions(0..30));
    let methods =
        |count: usize| format!("use crate::B as Other;\nimpl Other<u8> {{ {} }}", functions(30..30 + count));
    check(&[root, ("b.rs", &b), ("c.rs", &methods(10))], &[], &[]);
    check(&[root, ("b.rs", &b), ("c.rs", &methods(11))], &[("B", 41)], &[]);
}

#[test]
fn methods_that_a_trait_prescribes_are_not_counted_and_those_of_its_definition_are() {
    let text =
        format!("struct B;\nimpl Some for B {{ {} }}\nimpl B {{ {} }}", functions(0..30), functions(0..40));
    check(&[("lib.rs", &text)], &[], &[]);
    check(&[("lib.rs", &format!("trait Many {{ {} }}", functions(0..41)))], &[("Many", 41)], &[]);
}

#[test]
fn what_is_for_tests_is_not_counted() {
    let tests = format!("#[cfg(test)] impl B {{ {} }}", functions(0..41));
    let method = format!("impl B {{ {} #[cfg(test)] fn g() {{}} }}", functions(0..40));
    let text = format!("struct B {{ {} #[cfg(loom)] g: u8 }}\n{tests}\n{method}", with_fields(20));
    check(&[("lib.rs", &text)], &[], &[]);
}

#[test]
fn fields_are_counted_with_and_without_names() {
    check(&[("lib.rs", &format!("pub struct B {{ {} }}", with_fields(21)))], &[], &[("B", 21)]);
    check(&[("lib.rs", &format!("struct B({});", "u8,".repeat(21)))], &[], &[("B", 21)]);
    check(&[("lib.rs", &format!("fn f() {{ union B {{ {} }} }}", with_fields(21)))], &[], &[("B", 21)]);
}

#[test]
fn types_of_one_name_share_the_larger_value() {
    let (small, large) = (with_fields(25), with_fields(30));
    let text = format!("mod b {{ struct A {{ {small} }} }}\nmod c {{ struct A {{ {large} }} }}");
    check(&[("lib.rs", &text)], &[], &[("A", 30)]);
}

#[test]
fn a_comment_with_a_reason_exempts_a_type() {
    let options = |comment: &str| format!("/// Options.\n{comment}\nstruct B {{ {} }}", with_fields(21));
    check(&[("lib.rs", &options("// tidy: allow(fields) a list of options"))], &[], &[]);
    check(&[("lib.rs", &options("// tidy: allow(methods) a list of options"))], &[], &[("B", 21)]);
    check(&[("lib.rs", &options("// tidy: allow(fields)"))], &[], &[("B", 21)]);
}

#[test]
fn a_shell_shares_the_methods_of_the_type_that_it_borrows() {
    let text = |field: &str| {
        format!(
            "struct B;\nimpl B {{ {} }}\nstruct C<'a> {{ {field} }}\nimpl C<'_> {{ {} }}",
            functions(0..30),
            functions(0..11)
        )
    };
    check(&[("lib.rs", &text("b: &'a mut B"))], &[("B", 41)], &[]);
    check(&[("lib.rs", &text("b: &'a B, count: usize"))], &[], &[]);
}

#[test]
fn an_impl_away_from_its_type_is_counted() {
    let root = ("lib.rs", "mod b; mod c;");
    let files = [
        root,
        ("b.rs", "pub struct B;\nimpl B {}"),
        ("c.rs", "use crate::b::B;\nimpl B {}\nimpl Clone for B {}"),
    ];
    let files: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let record = measure::record(&Measure::all(&Tree::of(&files)));
    let found: Vec<(&str, usize)> = record.impls["a"].iter().map(|(name, count)| (&**name, *count)).collect();
    assert_eq!(found, [("B", 1)]);
}
