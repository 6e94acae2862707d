//! docs/libzmq-options.md names every option of libzmq once, and no field of `Options` that does not exist.

use std::collections::HashSet;

use crate::script::Script;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The cells of each row of the page's tables that is about an option: its name, what became of it, and how.
fn rows(page: &str) -> Vec<[&str; 3]> {
    let rows = page.lines().filter(|line| line.starts_with("| `ZMQ_"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').splitn(3, '|').map(str::trim).collect();
        [cells[0].trim_matches('`'), cells[1], cells[2]]
    })
    .collect()
}

#[test]
fn every_option_of_libzmq_stands_on_its_page() {
    let page = std::fs::read_to_string(format!("{CRATE}/../../docs/libzmq-options.md")).unwrap();
    let source = std::fs::read_to_string(format!("{CRATE}/src/options.rs")).unwrap();
    let rows = rows(&page);
    let mut script = Script::python("options.py", [""; 0]);
    let told = script.hear("options");
    let told: Vec<&str> = told.split(' ').collect();
    assert!(told.len() > 100, "pyzmq knows more than {}", told.len());
    for name in told {
        assert!(rows.iter().any(|row| row[0] == format!("ZMQ_{name}")), "ZMQ_{name} is missing");
    }
    let mut seen = HashSet::new();
    for [name, state, how] in rows {
        assert!(seen.insert(name), "{name} stands there twice");
        assert!(["kept", "renamed", "always", "refused"].contains(&state), "{name} is {state}");
        for field in how.split("`Options::").skip(1).filter_map(|rest| rest.split('`').next()) {
            assert!(source.contains(&format!("    pub {field}: ")), "{name}: no field {field}");
            let is_kept = name == format!("ZMQ_{}", field.to_uppercase());
            assert!(state != "kept" || is_kept, "{name} is renamed to {field}");
        }
        assert!(state != "kept" || how.contains("`Options::"), "{name} is kept as what?");
    }
}
