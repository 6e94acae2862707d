//! Patterns: RabbitMQ's answers, and the bound of the time for each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fancy_regex::{BytesMode, RegexBuilder};
use proptest::prelude::*;

use super::pattern::{Kind, Pattern, STEPS_MAX};
use super::pcre::translate;

/// A pattern, a name, and the answer of Erlang's `re:run`, which RabbitMQ uses.
const RABBITMQS: [(&str, &[u8], bool); 78] = [
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
    ("", b"a", true),
    ("", b"", true),
    (r"\h", b"aa", false),
    (r"\h", b"a<b", false),
    (r"\h", b"a b", true),
    (r"\<", b"a<b", true),
    ("^a(?#c){2}$", b"aa", true),
    ("^{,3}", b"{,3}", true),
    ("^{a", b"{a", true),
    (r"^\^*$", b"^^", true),
    ("^(x)?(?(1))$", b"", true),
    ("^(x)?(?(-1)a|b)(y)$", b"xay", true),
    ("^(x)?(?(-1)a|b)(y)$", b"by", true),
    ("^(?:(?(+1)a|b)(y))+$", b"byay", true),
    ("^(?:(?(2)a|b)(x)(y))+$", b"bxyaxy", true),
    ("^(?:(?(2)a|b)(x)(y))+$", b"axy", false),
    ("^(?<n>x)?(?(<n>)a|b)$", b"xa", true),
    ("^(?<n>x)?(?(<n>)a|b)$", b"xb", false),
];

/// Patterns that Erlang's `re` refuses, too.
const NO_PATTERNS: [&str; 39] = [
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
    "(?(1))",
    "(?(1)a|b)",
    "(?(2)a)(b)",
    "(?(-1)a)",
    "(?(+1)a)",
    "(?(0)a)",
    "^*",
    "^(?#c)*",
    "{2}",
    "a|{2}",
    "({2})",
    "a$+",
    r"\b?a",
    r"\A{2}",
    r"a\z{0,}",
    "(a)(?(+0)b)",
    "(a)(?(-0)b)(c)",
    "(a)(?(99999999999)b)",
    "(?(99999999999999999999)b)",
    "(?(<n>)a)",
    r"(?:a)(?=b)(?(1)c)",
    "(?#(a))(?(1)c)",
    r"\(a\)(?(1)c)",
    "[(a)](?(1)c)",
    "(?(1",
    "(?(",
];

/// Erlang's `re` accepts these. fancy-regex lacks them or gives them another meaning.
const REFUSED: [&str; 10] =
    ["(?R)", r"\R", r"\cA", "[+--]", "(*FAIL)", r"\07", "(?x)a b", r"\p{L}", "(?(R)a)", "(?(?=a)b|c)"];

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
    let looks = format!("(?:{}a)*z", "(?=(a*))".repeat(1000));
    let nested_looks = "(?=(?:".repeat(8) + "(?=(a*))" + &"a)*)".repeat(8) + "b";
    let nested = "(".repeat(8000) + &")".repeat(8000);
    for pattern in patterns.into_iter().chain([&*nested, &*looks, &*nested_looks]) {
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

/// RabbitMQ's words and place.
#[test]
fn a_condition_on_no_group_is_refused_in_rabbitmqs_words() {
    for (pattern, position) in [("(?(1))", 5), ("(?(-1)a)", 6), ("(?(2)a)(b)", 5), ("é(?(1)a|b)", 7)] {
        let error = Pattern::compile(pattern).unwrap_err();
        let found = (&*error.reason, error.position);
        assert_eq!(found, ("reference to non-existent subpattern", position), "{pattern}");
    }
}

#[test]
fn a_caseless_pattern_matches_letters_in_either_case() {
    for (pattern, name, expected) in [
        ("^ORD", "orders", true),
        ("ord", "ORD", true),
        ("[a-c]", "B", true),
        (r"\QA.\E", "xa.", true),
        ("a", "b", false),
    ] {
        assert_eq!(
            Pattern::compile_caseless(pattern).unwrap().matches(name.as_bytes()),
            expected,
            "{pattern}"
        );
    }
}

#[test]
fn a_name_that_takes_too_many_steps_is_told_apart() {
    let pattern = Pattern::compile(r"^(?:(a+)+\1)+(?!a)b$").unwrap();
    assert_eq!((pattern.find(&[b'a'; 200]), pattern.matches(&[b'a'; 200])), (None, false));
    assert_eq!((pattern.find(b"c"), pattern.find(b"aab")), (Some(false), Some(true)));
}

/// The steps of several matches are the sum of the steps of each. No match takes more steps than are left.
#[test]
fn steps_are_counted() {
    let looks = format!("(?:{}a)*z", "(?=(a*))".repeat(1000));
    let nested_looks = "(?=(?:".repeat(8) + "(?=(a*))" + &"a)*)".repeat(8) + "b";
    let behind = "(?:(?<=a{100})a|(?=a)a)*(?<!a)z".to_owned();
    for text in [looks, nested_looks, behind] {
        let pattern = Pattern::compile(&text).unwrap();
        let mut steps = STEPS_MAX;
        assert_eq!((pattern.find_within(&[b'a'; 255], &mut steps), steps), (None, 0), "{text}");
        assert_eq!(pattern.find_within(b"", &mut steps), None, "no step is left");
    }
    let steps_of = |text: &str, name: &[u8]| {
        let mut steps = STEPS_MAX;
        assert!(Pattern::compile(text).unwrap().find_within(name, &mut steps).is_some());
        STEPS_MAX - steps
    };
    assert_eq!([steps_of("^a", b"ab"), steps_of("a|b", b"ab")], [3, 8]);
    // The registers of a match count once. The text that a reference compares counts once, too.
    let groups = format!("(?=z){}", "(a)".repeat(1000));
    let (empty, long) = (steps_of(&groups, b""), steps_of(&groups, &[b'a'; 255]));
    assert!(empty >= 4000 / 16 && long <= empty + 255 * 4, "{empty} {long}");
    let twice =
        |size: usize| steps_of(r"^(a*)x\1$", &[&vec![b'a'; size][..], b"x", &vec![b'a'; size]].concat());
    assert_eq!(twice(240) - twice(80), 4 * 160 + 160 / 16);
    // The patterns that names have to get past are far from the limit.
    let usual = [
        r"^(?!amq\.).*".to_owned(),
        format!("^(?!({})).*$", (0..100).map(|n| format!("team-{n}\\.")).collect::<Vec<_>>().join("|")),
        "^(?!.*(dead|retry|parking)).*$".to_owned(),
        r"^(amq\.gen.*|mine)$".to_owned(),
        format!("^({})", (0..1000).map(|n| format!("team-{n}\\.")).collect::<Vec<_>>().join("|")),
        r"\.(dead|retry|parking)(\.[0-9]{1,5})?$".to_owned(),
    ];
    for text in usual {
        let steps = steps_of(&text, &[b't'; 255]);
        assert!(steps < STEPS_MAX / 10, "{text}: {steps}");
    }
    assert_eq!(steps_of("(?=(a+))\\1+$", &[b'a'; 255]), steps_of("(?=(a+))\\1+$", &[b'a'; 255]));
}

/// The steps of a large regular expression are counted, one for each instruction that the match visits.
#[test]
fn the_steps_of_a_regular_expression_are_those_of_its_program() {
    for text in ["(?:[ab]{0,60}){0,60}c", "(?:a?){2000}b", "(?:(?:a|b)*x?){300}c"] {
        let mut steps = STEPS_MAX;
        let pattern = Pattern::compile(text).unwrap();
        assert_eq!((pattern.find_within(&[b'a'; 240], &mut steps), steps), (None, 0), "{text}");
    }
    // At most one for each instruction and each way to one, for each byte.
    let mut steps = STEPS_MAX;
    let pattern = Pattern::compile("(?:[ab]{0,10}){0,10}c").unwrap();
    let Pattern(Kind::Program(program)) = &pattern else { panic!("a program") };
    assert_eq!(pattern.find_within(&[b'a'; 240], &mut steps), Some(false));
    assert!(STEPS_MAX - steps <= 241 * 2 * program.instructions.len(), "{steps}");
}

/// Parts of patterns. Many are known to fancy-regex and unknown to PCRE, or the other way round.
const PARTS: [&str; 60] = [
    "a",
    "b",
    "a",
    "b",
    ".",
    "^",
    "$",
    "|",
    "|",
    "(",
    "(",
    ")",
    ")",
    ")",
    "*",
    "+",
    "?",
    "{2}",
    "{,3}",
    "{0}",
    "{0,2}",
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?>",
    "(?<n>",
    "(?P<n>",
    "(?i)",
    "(?-i:",
    "(?(1)",
    "(?(2)",
    "(?(-1)",
    "(?(+1)",
    "(?(<n>)",
    "(?(DEFINE)",
    "(?(a)",
    "(?~",
    "(?P=n)",
    r"\1",
    r"\2",
    r"\k<n>",
    r"\k<-1>",
    r"\k<1+1>",
    r"\g<1>",
    r"\K",
    r"\G",
    r"\b",
    r"\B",
    r"\A",
    r"\z",
    r"\Z",
    r"\h",
    "[ab]",
    "[^a]",
    "[[:alpha:]]",
    "(?#c)",
    r"\N",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// No pattern makes the engine panic at compilation. A program finds the same matches as fancy-regex without bounds.
    #[test]
    fn no_pattern_makes_the_engine_panic(
        parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 1..12),
        name in "[abAB]{0,6}",
        is_caseless: bool,
    ) {
        let text = parts.concat();
        match if is_caseless { Pattern::compile_caseless(&text) } else { Pattern::compile(&text) } {
            Ok(pattern @ Pattern(Kind::Program(_))) => {
                let mut builder = RegexBuilder::new(&translate(&text).unwrap());
                builder.bytes_mode(BytesMode::Ascii).backtrack_limit(10_000).case_insensitive(is_caseless);
                let regex = builder.build().unwrap();
                let expected = catch_unwind(AssertUnwindSafe(|| regex.is_match(name.as_bytes())));
                if let (Ok(Ok(expected)), Some(found)) = (expected, pattern.find(name.as_bytes())) {
                    prop_assert_eq!(found, expected, "{} and {}", text, name);
                }
            }
            Ok(_) => {}
            Err(error) => prop_assert_ne!(error.reason, super::pattern::ENGINE_FAILED),
        }
    }
}
