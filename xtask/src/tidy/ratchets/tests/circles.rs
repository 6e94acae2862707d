//! Which imports make a circle and which do not.

use super::super::super::tree::Tree;
use super::super::measure::{self, Measure};

/// The circles of a crate whose files are given with their paths below `src`, each circle on a line.
fn check(files: &[(&str, &str)], circles: &[&str]) {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("crates/a/src/{path}")).collect();
    let files: Vec<(&str, &str)> =
        paths.iter().zip(files).map(|(path, (_, text))| (&**path, *text)).collect();
    let record = measure::record(&Measure::all(&Tree::of(&files)));
    let found: Vec<String> =
        record.circles.get("a").into_iter().flatten().map(|circle| circle.join(" ")).collect();
    assert_eq!(found, circles, "{files:?}");
}

/// The circles of a crate of the modules `b` and `c`; `c` has `use crate::b::B;`.
fn check_pair(b: &str, circles: &[&str]) {
    let b = format!("pub struct B;\n{b}\n");
    check(
        &[
            ("lib.rs", "mod b;\nmod c;\n"),
            ("b.rs", &b),
            ("c.rs", "use crate::b::B;\npub struct C;\npub fn f() {}"),
        ],
        circles,
    );
}

#[test]
fn imports_in_one_direction_are_no_circle() {
    check_pair("", &[]);
    check_pair("use std::c::C;\nuse ::c::C as D;\n", &[]);
}

#[test]
fn use_lines_close_a_circle() {
    for line in [
        "use crate::c::C;",
        "use super::c::C;",
        "use crate::{c::{self, C as D}, d};",
        "use crate::c::*;",
        "fn g() { use crate::c::f; }",
        "mod inner { use super::super::c::C; }",
    ] {
        check_pair(line, &["b.rs c.rs"]);
    }
}

#[test]
fn paths_in_code_close_a_circle() {
    for code in [
        "fn g() { crate::c::f() }",
        "fn g() { self::super::c::f() }",
        "fn g(c: &super::c::C) {}",
        "fn g() -> Vec<Option<crate::c::C>> { Vec::new() }",
        "impl crate::c::C {}",
        "use crate::c;\nfn g() { c::f() }",
        "use super as above;\nfn g() { above::c::f() }",
        "fn g() { assert!(matches!(f(0..crate::c::f()), [a, b])); }",
    ] {
        check_pair(code, &["b.rs c.rs"]);
    }
}

#[test]
fn names_that_use_nothing_close_no_circle() {
    for code in [
        "pub(in crate::c) struct D;",
        "#[doc = \"crate::c::C\"]\n#[other(crate::c::C)]\nstruct D;",
        "use crate::c;",
        "use crate::c;\nfn g(c: u8) -> u8 { c + h.c::<u8>() }",
        "pub use crate::c::f;\nfn g(c: u8) { h!(c, x.f, \"crate::c::f\") }",
    ] {
        check_pair(code, &[]);
    }
}

#[test]
fn tests_close_no_circle() {
    check_pair("#[cfg(test)]\nmod tests { use crate::c::C; }", &[]);
    check_pair("#[cfg(all(test, not(loom)))]\nuse crate::c::C;", &[]);
    check_pair("#[test]\nfn g() { crate::c::f() }", &[]);
    check_pair("struct D { #[cfg(test)] c: crate::c::C }", &[]);
    check_pair("impl B { #[cfg(loom)] fn g() { crate::c::f() } }", &[]);
    let child = ("b/tests.rs", "use crate::c::C;");
    let b = ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests;");
    check(&[("lib.rs", "mod b; mod c;"), b, child, ("c.rs", "use crate::b::B;")], &[]);
}

#[test]
fn a_re_export_leads_to_the_file_that_defines_the_item() {
    let root = ("lib.rs", "mod engine;\npub use engine::State;");
    let engine = (
        "engine/mod.rs",
        "mod rings;\nmod state;\npub(crate) use self::state::State;\npub(crate) use rings::*;",
    );
    let state = ("engine/state.rs", "pub struct State;\nfn f() { super::look() }");
    for line in [
        "use crate::State;",
        "use crate::engine::State;",
        "use super::State;",
        "use super::*;\nfn f(a: State) {}",
    ] {
        let rings = format!("{line}\npub(crate) fn look() {{}}");
        check(&[root, engine, state, ("engine/rings.rs", &rings)], &["engine/rings.rs engine/state.rs"]);
    }
}

#[test]
fn a_parent_that_only_declares_and_re_exports_is_in_no_circle() {
    let root = ("lib.rs", "mod ring;");
    let consumer = ("ring/consumer.rs", "use super::Shared;\npub struct Consumer;");
    let ring = "mod consumer;\npub use consumer::Consumer;\npub(crate) struct Shared;";
    check(&[root, ("ring.rs", ring), consumer], &[]);
    let uses = format!("{ring}\nfn new() -> Consumer {{ todo() }}");
    check(&[root, ("ring.rs", &uses), consumer], &["ring.rs ring/consumer.rs"]);
}

#[test]
fn an_item_with_the_name_of_its_module_is_told_from_the_module() {
    let wait = ("wait.rs", "use crate::b::B;\npub fn wait() {}");
    check(
        &[
            ("lib.rs", "mod wait; mod b; pub use wait::wait;"),
            wait,
            ("b.rs", "use crate::wait;\npub struct B;"),
        ],
        &["b.rs wait.rs"],
    );
}

#[test]
fn re_exports_that_lead_nowhere_end() {
    let root = ("lib.rs", "mod b; mod c; pub use b::X; pub use other::Y;");
    check(
        &[
            root,
            ("b.rs", "pub use crate::c::X;\nuse crate::Y;"),
            ("c.rs", "pub use crate::b::X;\npub use crate::b::*;\nfn f() { X::z(Z) }"),
        ],
        &[],
    );
}

#[test]
fn circles_are_as_large_as_they_are() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e; mod f;"),
        ("a.rs", "pub fn x() { crate::b::x() }"),
        ("b.rs", "pub fn x() { crate::c::x() }"),
        ("c.rs", "pub fn x() { crate::a::x(); crate::d::x() }"),
        ("d.rs", "pub fn x() { crate::e::x() }"),
        ("e.rs", "pub fn x() { crate::d::x() }"),
        ("f.rs", "pub fn x() { crate::a::x() }"),
    ];
    check(&files, &["a.rs b.rs c.rs", "d.rs e.rs"]);
}

#[test]
fn a_program_beside_a_library_has_modules_of_its_own() {
    let files = [
        ("lib.rs", "mod b; pub fn x() {}"),
        ("b.rs", "pub fn y() {}"),
        ("main.rs", "mod c; fn x() { c::y() }"),
        ("c.rs", "pub fn y() { crate::x() }"),
    ];
    check(&files, &["c.rs main.rs"]);
}
