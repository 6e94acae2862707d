//! Comparing a checkout with its record, and lowering the record.

use super::super::super::tree::Tree;
use super::super::check::{RECORD, check, lower};

const LIB: &str = "mod b;\nmod c;\nmod d;\nmod e;\n";
const APART: &str = "pub fn f() {}\n";

/// A crate of four files, of which `b` and `c`, and `d` and `e`, can be given imports; and its record.
fn tree(record: Option<&str>, [b, c, d, e]: [&str; 4], lib: &str) -> Tree {
    let lib = format!("{LIB}{lib}");
    let mut files = vec![
        ("crates/a/src/lib.rs", &*lib),
        ("crates/a/src/b.rs", b),
        ("crates/a/src/c.rs", c),
        ("crates/a/src/d.rs", d),
        ("crates/a/src/e.rs", e),
    ];
    files.extend(record.map(|record| (RECORD, record)));
    Tree::of(&files)
}

/// Each finding as `file:line: rule: the first word of the advice`.
fn found(tree: &Tree) -> Vec<String> {
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let words = |advice: &str| advice.split(' ').next().unwrap_or_default().to_owned();
    let finding = |f: super::super::super::Finding| {
        format!("{}:{}: {}: {}", file(&f.path), f.line, f.rule, words(&f.advice))
    };
    check(tree).into_iter().map(finding).collect()
}

fn use_of(module: &str) -> String {
    format!("use std::fmt;\nuse crate::{module}::f;\npub fn f() {{}}\n")
}

fn methods(count: usize) -> String {
    let methods: String = (0..count).map(|name| format!("fn f{name}() {{}} ")).collect();
    format!("struct B;\nimpl B {{ {methods} }}\n")
}

#[test]
fn a_record_that_says_what_there_is_is_well() {
    let files = [&*use_of("c"), &use_of("b"), APART, APART];
    let methods = methods(41);
    let record = lower(&tree(None, files, &methods)).expect("no record, none that grew");
    assert!(record.contains("    [ # 2 files\n        \"b.rs\",\n        \"c.rs\",\n    ],\n"), "{record}");
    assert!(record.contains("[methods.a]\nB = 41\n"), "{record}");
    assert_eq!(found(&tree(Some(&record), files, &methods)), Vec::<String>::new());
    assert_eq!(lower(&tree(Some(&record), files, &methods)), Ok(record));
}

#[test]
fn a_new_type_starts_at_the_largest_size() {
    let files = [APART; 4];
    assert_eq!(found(&tree(None, files, &methods(40))), Vec::<String>::new());
    assert_eq!(found(&tree(None, files, &methods(41))), ["lib.rs:5: methods: B"]);
    let fields = |count| format!("struct B({});", "u8,".repeat(count));
    assert_eq!(found(&tree(None, files, &fields(20))), Vec::<String>::new());
    assert_eq!(found(&tree(None, files, &fields(21))), ["lib.rs:5: fields: B"]);
}

#[test]
fn a_recorded_type_neither_grows_nor_shrinks_unseen() {
    let record = "[methods.a]\nB = 50\n";
    let tree = |count| tree(Some(record), [APART; 4], &methods(count));
    assert_eq!(found(&tree(50)), Vec::<String>::new());
    assert_eq!(found(&tree(51)), ["lib.rs:5: methods: B"]);
    assert_eq!(lower(&tree(51)).map_err(|findings| findings.len()), Err(1));
    for count in [49, 40] {
        assert_eq!(found(&tree(count)), ["ratchets.toml:2: methods: B"]);
    }
    assert!(lower(&tree(49)).is_ok_and(|record| record.contains("B = 49\n")));
    assert!(lower(&tree(40)).is_ok_and(|record| !record.contains("B = ")));
}

#[test]
fn a_new_file_is_in_no_circle() {
    let recorded = "[circles]\na = [[\"b.rs\", \"c.rs\"]]\n";
    let new = tree(Some(recorded), [&use_of("c"), &use_of("b"), &use_of("e"), &use_of("d")], "");
    assert_eq!(found(&new), ["d.rs:2: circles: closes", "e.rs:2: circles: closes"]);
    assert!(lower(&new).is_err());
    // Though others left theirs.
    let moved = tree(Some(recorded), [APART, APART, &use_of("e"), &use_of("d")], "");
    assert_eq!(found(&moved), ["d.rs:2: circles: closes", "e.rs:2: circles: closes"]);
    let advice = &check(&moved)[0].advice;
    assert!(advice.contains("d.rs -> e.rs -> d.rs"), "{advice}");
}

#[test]
fn circles_neither_join_nor_open_unseen() {
    let recorded = "[circles]\na = [\n    [\"b.rs\", \"c.rs\"],\n    [\"d.rs\", \"e.rs\"],\n]\n";
    let joined = tree(Some(recorded), [&use_of("c"), &use_of("d"), &use_of("e"), &use_of("b")], "");
    assert_eq!(found(&joined), ["c.rs:2: circles: imports", "e.rs:2: circles: imports"]);
    assert!(lower(&joined).is_err());
    let opened = tree(Some(recorded), [&use_of("c"), &use_of("b"), &use_of("e"), APART], "");
    assert_eq!(found(&opened), ["ratchets.toml:2: circles: 2"]);
    assert!(lower(&opened).is_ok_and(|record| !record.contains("d.rs")));
    let gone = tree(Some(recorded), [APART; 4], "");
    assert_eq!(found(&gone), ["ratchets.toml:2: circles: 0"]);
}

#[test]
fn a_circle_that_falls_apart_is_lowered() {
    let recorded = "[circles]\na = [[\"b.rs\", \"c.rs\", \"d.rs\", \"e.rs\"]]\n";
    let apart = tree(Some(recorded), [&use_of("c"), &use_of("b"), &use_of("e"), &use_of("d")], "");
    assert_eq!(found(&apart), ["ratchets.toml:2: circles: 4"]);
    assert!(lower(&apart).is_ok());
}

#[test]
fn what_cannot_be_read_is_found() {
    assert_eq!(found(&tree(Some("[circles"), [APART; 4], "")), ["ratchets.toml:1: circles: cannot"]);
    assert!(lower(&tree(Some("[circles"), [APART; 4], "")).is_err());
    let broken = tree(None, [APART, "fn f() {}\nfn f(", APART, APART], "");
    assert_eq!(found(&broken), ["c.rs:2: circles: cannot"]);
    assert!(lower(&broken).is_err());
}
