//! Patterns: what RabbitMQ answers for them, and that none takes long.

use std::time::{Duration, Instant};

use crate::access::pattern::{Pattern, PatternTable};

/// A pattern, a name, and what Erlang's `re:run` answers: RabbitMQ's check.
const RABBITMQS: [(&str, &[u8], bool); 62] = [
    (".*", b"a", true),
    (".*", b"a\nb", true),
    ("^$", b"a", false),
    ("a", b"bab", true),
    ("^a", b"ba", false),
    (r"^(?!amq\.).*", b"amq.topic", false),
    (r"^(?!amq\.).*", b"mine", true),
    (r"^(amq\.gen.*|mine)$", b"amq.gen-x", true),
    (r"^(amq\.gen.*|mine)$", b"mine2", false),
    ("^mine", b"mine-1", true),
    ("^mine$", b"mine-1", false),
    ("^mine$", b"mine", true),
    ("^mine.*$", b"mine\nx", false),
    ("^mine.*$", b"mine x", true),
    ("^(?!.*secret).*$", b"a-secret", false),
    ("^(?!.*secret).*$", b"public", true),
    ("(?<=a)b", b"ab", true),
    ("(?<!a)b", b"ab", false),
    ("(?i)^QUEUE", b"queue.1", true),
    ("^{username}$", b"{username}", true),
    ("^a{,3}$", b"a{,3}", true),
    ("^a{,3}$", b"aaa", false),
    ("^a{2,3}$", b"aaaa", false),
    ("^a{2,3}$", b"aa", true),
    ("^a{2}{,}$", b"aa{,}", true),
    ("^a{2,,3}{$", b"a{2,,3}{", true),
    (r"^\Qa.b\E$", b"a.b", true),
    (r"^\Qa.b\E$", b"axb", false),
    (r"^\<a\>$", b"<a>", true),
    (r"\<a", b"a", false),
    (r"^a\hb$", b"a b", true),
    (r"^a\hb$", b"afb", false),
    ("^[a&&b]+$", b"a&b", true),
    ("^[[]$", b"[", true),
    ("^[]a]+$", b"]a", true),
    ("^[^]a]+$", b"]", false),
    ("^[[:alpha:]-]+$", b"a-b", true),
    ("^[[:alpha:]]$", b"1", false),
    (r"^\d+$", b"12", true),
    (r"^\x61\x{62}$", b"ab", true),
    (r"^\xff$", b"\xff", true),
    ("^.$", b"\xff", true),
    ("^.$", "é".as_bytes(), false),
    ("^..$", "é".as_bytes(), true),
    ("^é$", "é".as_bytes(), true),
    ("^[é]{2}$", "é".as_bytes(), true),
    ("^é+$", "éé".as_bytes(), false),
    (r"^(a)\1$", b"aa", true),
    ("^(?>a+)ab$", b"aab", false),
    ("^a++b$", b"aab", true),
    ("a|^b", b"xa", true),
    ("(?#all of mine)^mine", b"mine", true),
    ("^(?i:A)b$", b"ab", true),
    ("^(?i:A)b$", b"aB", false),
    ("^(a|b)?(?(1)x|y)$", b"ax", true),
    ("^(a|b)?(?(1)x|y)$", b"x", false),
    (r"^a\/b$", b"a/b", true),
    (r"^[\w.-]+$", b"a_b.c-1", true),
    (r"^[\w.-]+$", b"a b", false),
    ("^a.b$", b"a\nb", false),
    // RabbitMQ reads the empty pattern as `^$`.
    ("", b"a", false),
    ("", b"", true),
];

/// Patterns that Erlang's `re` refuses, too.
const NO_PATTERNS: [&str; 13] = [
    "(",
    "*a",
    "[",
    "a\\",
    "(?<=a+)b",
    "[[:foo:]]",
    "[b-a]",
    "a)",
    "(?z)",
    r"\1",
    "a{3,1}",
    "a{99999999999}",
    "(?P<a",
];

/// Erlang's `re` knows these, and fancy-regex lacks them or means something else.
const REFUSED: [&str; 8] = ["(?R)", r"\R", r"\cA", "[+--]", "(*FAIL)", r"\07", "(?x)a b", r"\p{L}"];

fn matches(pattern: &str, name: &[u8]) -> bool {
    Pattern::compile(pattern).unwrap().matches(name)
}

#[test]
fn patterns_match_as_in_rabbitmq() {
    for (pattern, name, expected) in RABBITMQS {
        assert_eq!(matches(pattern, name), expected, "{pattern} and {}", String::from_utf8_lossy(name));
    }
}

#[test]
fn what_is_no_pattern_is_named() {
    for pattern in NO_PATTERNS.into_iter().chain(REFUSED) {
        let error = Pattern::compile(pattern).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("invalid regular expression '{pattern}': ")),
            "{error}"
        );
    }
    let long = format!("^({})", "a".repeat(20_000));
    assert!(Pattern::compile(&long).unwrap_err().to_string().ends_with("longer than 16384 bytes"));
    assert!(Pattern::compile(&long[..16_000]).is_err(), "it has an open parenthesis");
    assert!(Pattern::compile(&format!("{})", &long[..16_000])).is_ok());
}

#[test]
fn plain_patterns_match_as_regular_expressions_do() {
    // The group makes a regular expression of the same text.
    let texts = [
        "",
        "a",
        "a.*",
        "a.*$",
        "a$",
        ".*",
        ".*$",
        r"a\.b",
        r"a\.b$",
        "a/b.*$",
        "é",
        "{",
        "a{",
        "a-_ :@,;=%&#!'\"~<>`",
    ];
    let names: [&[u8]; 14] = [
        b"",
        b"a",
        b"ab",
        b"a.b",
        b"axb",
        b"a.bc",
        b"a\n",
        b"a\nb",
        b"ba",
        b"a/bc",
        "é".as_bytes(),
        b"\xff",
        b"{x",
        b"a{x",
    ];
    for text in texts {
        for name in names {
            let (plain, regex) = (format!("^{text}"), format!("^(?:){text}"));
            if let Ok(regex) = Pattern::compile(&regex) {
                let expected = regex.matches(name);
                assert_eq!(matches(&plain, name), expected, "{plain} and {}", String::from_utf8_lossy(name));
            }
        }
    }
    assert!(matches("^a-_ :@,;=%&#!'\"~<>`", b"a-_ :@,;=%&#!'\"~<>`."));
}

#[test]
fn hostile_patterns_end_soon() {
    let mut name = [b'a'; 255];
    name[254] = b'!';
    let patterns = [
        "(a+)+$",
        r"^(?:(a+)\1?)+$",
        "(?!b)(a+)+$",
        r"^(a|a)*\1$",
        "^(?:a?){255}(?=x)a{255}$",
        "(?=a)(a*)*b(?!c)",
        r"(.*)(.*)(.*)(.*)(.*)\1x",
        "(?:a{0,1000}){0,1000}",
        "((a{0,100}){0,100}){0,100}",
        r"((?=a)(a*)*){0,50}\1z",
        r"(a{0,100}(?=a)){0,100}\1z",
        r"\w{1000}\w{1000}",
        "(?:(?:(?:a|b|c)?){100}){100}(?!x)z",
    ];
    let nested = "(".repeat(8000) + &")".repeat(8000);
    for pattern in patterns.into_iter().chain([&*nested]) {
        // The least of three: other tests have the processor, too.
        let least = (0..3)
            .map(|_| {
                let start = Instant::now();
                let found = Pattern::compile(pattern).is_ok_and(|pattern| pattern.matches(&name));
                assert!(!found || pattern == nested, "{pattern}");
                start.elapsed()
            })
            .min();
        assert!(least < Some(Duration::from_secs(1)), "{pattern}: {least:?}");
    }
}

#[test]
fn equal_patterns_are_compiled_once_and_forgotten_with_their_last_user() {
    let table = PatternTable::default();
    let one = table.get("^(a|b)").unwrap();
    assert!(std::sync::Arc::ptr_eq(&one, &table.get("^(a|b)").unwrap()));
    for number in 0..10_000 {
        table.get(&format!("^(a|{number})")).unwrap();
    }
    assert!(table.len() <= 64, "{}", table.len());
    assert!(std::sync::Arc::ptr_eq(&one, &table.get("^(a|b)").unwrap()));
    assert!(table.get("(").is_err());
    assert!(!table.get_or_never("(").matches(b""));
}
