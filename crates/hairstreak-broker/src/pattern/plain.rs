//! `PlainPattern`: the patterns that most permissions have, which need no regular expression.
//!
//! They take no memory but their text and are matched in nanoseconds. A test compares them with the regular expressions.

/// A pattern of a fixed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlainPattern {
    /// `.*`: every name.
    All,
    /// `^$`: the empty name. No exchange or queue has one.
    Empty,
    /// `^text$`
    Exact(Box<[u8]>),
    /// `^text` and `^text.*`; with `one_line` `^text.*$`, where no line feed may follow.
    Prefix { text: Box<[u8]>, one_line: bool },
}

impl PlainPattern {
    /// The plain form of `pattern`, if it has one.
    pub fn of(pattern: &str) -> Option<PlainPattern> {
        match pattern {
            "^$" => return Some(PlainPattern::Empty),
            "" | ".*" | "^" | "^.*" | ".*$" => return Some(PlainPattern::All),
            _ => {}
        }
        let (text, end) = literal(pattern.strip_prefix('^')?)?;
        match end {
            "" | ".*" => Some(PlainPattern::Prefix { text, one_line: false }),
            ".*$" => Some(PlainPattern::Prefix { text, one_line: true }),
            "$" => Some(PlainPattern::Exact(text)),
            _ => None,
        }
    }

    pub fn matches(&self, name: &[u8]) -> bool {
        match self {
            PlainPattern::All => true,
            PlainPattern::Empty => name.is_empty(),
            PlainPattern::Exact(text) => name == &**text,
            PlainPattern::Prefix { text, one_line } => {
                name.strip_prefix(&**text).is_some_and(|rest| !one_line || !rest.contains(&b'\n'))
            }
        }
    }
}

/// Returns the fixed text at the start of `pattern`, and the rest. `None` if a repetition may change the last character.
fn literal(pattern: &str) -> Option<(Box<[u8]>, &str)> {
    let mut text = Vec::new();
    let mut rest = pattern;
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            Some('\\') => {
                let escaped = chars.next().filter(char::is_ascii_punctuation)?;
                text.push(u8::try_from(escaped).ok()?);
            }
            Some(char) if is_literal(char) => {
                text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes())
            }
            Some('*' | '+' | '?' | '{') => return None,
            _ => return Some((text.into(), rest)),
        }
        rest = chars.as_str();
    }
}

/// Characters that mean themselves in every regular expression.
fn is_literal(char: char) -> bool {
    !char.is_ascii() || char.is_ascii_alphanumeric() || " _-/:@,;=%&#!'\"~<>`".contains(char)
}
