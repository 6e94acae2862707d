//! Rule `unsafety`: `unsafe` stands in a few crates only, each time with the reason why it is sound.
//!
//! Which crates: those that own memory or descriptors, and the bench, which calls a rival's C functions.

use super::Finding;
use super::code::Code;
use super::tree::Tree;

const CRATES: &[&str] = &[
    "hairstreak-base",
    "hairstreak-transport",
    "hairstreak-process",
    "hairstreak-store",
    "hairstreak-testkit",
    "hairstreak-bench",
];
/// How many lines above an `unsafe` its reason may stand: a statement may be broken over a few.
const REACH: usize = 5;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending_in(".rs") {
        let code = Code::of(&file.text, file.is_test());
        for (number, line) in code.numbered() {
            let Some(kind) = Kind::of(&line.code) else { continue };
            if !CRATES.contains(&file.crate_name()) {
                let advice =
                    format!("`unsafe` stands in {} only: offer a safe call there", CRATES.join(", "));
                findings.push(Finding::new(&file.path, number, "unsafety", advice));
            } else if kind == Kind::Claim && !code.says_near(number, REACH, "SAFETY:") {
                let advice = "say why this is sound in a `// SAFETY:` line right above";
                findings.push(Finding::new(&file.path, number, "unsafety", advice));
            } else if kind == Kind::Demand
                && !is_of_trait(&code, number)
                && !doc_says(&code, number, "# Safety")
            {
                let advice = "say what the caller must see to under `/// # Safety`";
                findings.push(Finding::new(&file.path, number, "unsafety", advice));
            }
        }
    }
    findings
}

/// What an `unsafe` means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A block or an implementation: the author claims it is sound.
    Claim,
    /// A function or trait: the caller must see to it.
    Demand,
    /// Part of a type or an attribute.
    Mention,
}

impl Kind {
    fn of(code: &str) -> Option<Kind> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let after = code.match_indices("unsafe").find_map(|(at, word)| {
            let (before, after) = (&code[..at], &code[at + word.len()..]);
            (!before.ends_with(is_word) && !after.starts_with(is_word)).then_some(after.trim_start())
        })?;
        Some(if after.starts_with('(') || after.starts_with("fn(") || after.starts_with("extern") {
            Kind::Mention
        } else if after.starts_with("fn ") || after.starts_with("trait ") {
            Kind::Demand
        } else {
            Kind::Claim
        })
    }
}

/// Whether line `number` stands in `impl TRAIT for TYPE`: its terms are the trait's.
fn is_of_trait(code: &Code, number: usize) -> bool {
    let indentation = |text: &str| text.len() - text.trim_start().len();
    let own = indentation(&code.lines[number - 1].code);
    let around = code.lines[..number - 1].iter().rev().map(|line| &line.code);
    let mut around = around.filter(|text| !text.trim().is_empty() && indentation(text) < own);
    around.next().is_some_and(|text| text.contains("impl") && text.contains(" for "))
}

/// Whether the doc comment above line `number` contains `words`.
fn doc_says(code: &Code, number: usize, words: &str) -> bool {
    code.lines[..number - 1]
        .iter()
        .rev()
        .take_while(|line| line.comment.starts_with("///") || line.code.trim_start().starts_with("#["))
        .any(|line| line.comment.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_of_a_trait_are_not_repeated() {
        let text = "// SAFETY: passed on.\nunsafe impl A for B {\n    fn a() {}\n\n    unsafe fn b() {}\n}\n";
        assert_eq!(lines_found("crates/hairstreak-base/src/a.rs", text), []);
    }

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unsafe_outside_its_crates_is_found() {
        let text = "// SAFETY: not here.\nunsafe { a() }\n// unsafe is a word\nb(\"unsafe\")";
        assert_eq!(lines_found("crates/hairstreak-wire/src/a.rs", text), [2]);
        assert_eq!(lines_found("crates/hairstreak-base/src/a.rs", text), []);
    }

    #[test]
    fn a_claim_without_its_reason_is_found() {
        let path = "crates/hairstreak-base/src/a.rs";
        assert_eq!(lines_found(path, "unsafe impl Send for A {}\nlet a = unsafe { b() };"), [1, 2]);
        assert_eq!(lines_found(path, "// SAFETY: owned.\nlet a =\n    unsafe { b() };"), []);
    }

    #[test]
    fn a_demand_without_its_terms_is_found() {
        let path = "crates/hairstreak-base/src/a.rs";
        assert_eq!(lines_found(path, "/// Adds.\npub unsafe fn a() {}"), [2]);
        assert_eq!(lines_found(path, "/// # Safety\n/// Be good.\n#[inline]\npub unsafe fn a() {}"), []);
        assert_eq!(
            lines_found(path, "type F = unsafe extern \"C\" fn(i32);\n#[unsafe(no_mangle)]\nx: unsafe fn();"),
            []
        );
    }
}
