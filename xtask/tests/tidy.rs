//! Runs every house rule on this checkout, which makes them part of `cargo test`.

use std::path::Path;

use xtask::{CHECKOUT, tidy};

#[test]
fn this_checkout_keeps_its_house_rules() {
    let findings = tidy::check_checkout(Path::new(CHECKOUT)).expect("the checkout can be read");
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}
