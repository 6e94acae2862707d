//! The table of patterns: what it shares, and what an empty pattern of a permission means.

use std::sync::Arc;

use crate::access::pattern::PatternTable;

#[test]
fn an_empty_pattern_matches_the_empty_name_only() {
    let table = PatternTable::default();
    let empty = table.get("").unwrap();
    assert!(empty.matches(b"") && !empty.matches(b"a"));
    assert!(Arc::ptr_eq(&empty, &table.get("^$").unwrap()));
}

#[test]
fn equal_patterns_are_compiled_once_and_forgotten_with_their_last_user() {
    let table = PatternTable::default();
    let one = table.get("^(a|b)").unwrap();
    assert!(Arc::ptr_eq(&one, &table.get("^(a|b)").unwrap()));
    for number in 0..10_000 {
        table.get(&format!("^(a|{number})")).unwrap();
    }
    assert!(table.len() <= 64, "{}", table.len());
    assert!(Arc::ptr_eq(&one, &table.get("^(a|b)").unwrap()));
    assert!(table.get("(").is_err());
    assert!(!table.get_or_never("(").matches(b""));
}
