//! Translation of PCRE patterns to the syntax of fancy-regex.
//!
//! RabbitMQ matches bytes with Erlang's `re`, which is PCRE without Unicode. fancy-regex gives some texts another meaning: `\<` is
//! the start of a word, `{,3}` a repetition, `&&` in a class an intersection. A permission must not allow more here than there, so
//! these are written as PCRE means them. Constructs without an equal, such as recursion, are refused.
//!
//! fancy-regex looks up the group of a condition `(?(1)...)` only while it matches, and panics if the group does not exist. So
//! groups are counted here, and a condition on a missing group is refused.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// PCRE's words for a reference to a group that is not there.
const NO_SUBPATTERN: &str = "reference to non-existent subpattern";

/// PCRE's words for `{2}` at a start and for a repetition of a place, such as `^*`. fancy-regex takes these, and finds the latter in
/// every name.
const NOTHING_TO_REPEAT: &str = "nothing to repeat";

type Rest<'a> = Peekable<Chars<'a>>;

/// The thing that is wrong with a pattern.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Text for the user.
    pub reason: String,
    /// Byte position behind the faulty part of the pattern.
    pub position: usize,
}

/// The groups of a pattern that are counted, and the conditions that name one.
#[derive(Debug, Default)]
struct Groups {
    count: usize,
    /// The number of a group, and the bytes of the pattern behind it.
    named: Vec<(usize, usize)>,
}

/// Translates the pattern for fancy-regex with bytes.
///
/// Errors: a construct that fancy-regex lacks, or a condition on a group that is not there.
pub(super) fn translate(pattern: &str) -> Result<String, Fault> {
    let mut rest = pattern.chars().peekable();
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut groups = Groups::default();
    let position = |rest_size| pattern.len() - rest_size;
    let mut has_nothing = true;
    while let Some(char) = rest.next() {
        if has_nothing && is_quantifier(char, &rest) {
            let position = position(size_of_rest(&rest)) - 1;
            return Err(Fault { reason: NOTHING_TO_REPEAT.into(), position });
        }
        has_nothing = leaves_nothing(char, &rest, has_nothing);
        let done = match char {
            '\\' => escape(&mut rest, &mut out),
            '[' => class(&mut rest, &mut out),
            '(' => group(&mut rest, &mut out, &mut groups),
            '{' => brace(&rest, &mut out),
            _ => {
                push_bytes(char, &mut out);
                Ok(())
            }
        };
        done.map_err(|reason| Fault { reason, position: position(size_of_rest(&rest)) })?;
    }
    // A condition may name a group that comes later.
    match groups.named.into_iter().find(|(number, _)| !(1..=groups.count).contains(number)) {
        None => Ok(out),
        Some((_, rest_size)) => Err(Fault { reason: NO_SUBPATTERN.into(), position: position(rest_size) }),
    }
}

/// Returns the number of bytes that are not read yet.
fn size_of_rest(rest: &Rest<'_>) -> usize {
    rest.clone().map(char::len_utf8).sum()
}

/// Returns true if a repetition behind this character and the rest would have nothing to repeat. A repetition has nothing to
/// repeat at the start of a branch and behind a place in a name. A comment changes nothing.
fn leaves_nothing(char: char, rest: &Rest<'_>, had_nothing: bool) -> bool {
    let mut next = rest.clone();
    match (char, next.next()) {
        ('(', Some('?')) => had_nothing && next.next() == Some('#'),
        ('^' | '$' | '|' | '(', _) | ('\\', Some('A' | 'B' | 'Z' | 'b' | 'z')) => true,
        _ => false,
    }
}

/// Returns true if this character and the rest are a repetition.
fn is_quantifier(char: char, rest: &Rest<'_>) -> bool {
    matches!(char, '*' | '+' | '?') || char == '{' && is_repetition(rest).unwrap_or(false)
}

/// Appends a character as it is, or the bytes of a non-ASCII one: a repetition behind it repeats its last byte, as in PCRE.
fn push_bytes(char: char, out: &mut String) {
    if char.is_ascii() {
        out.push(char);
        return;
    }
    for byte in char.encode_utf8(&mut [0; 4]).bytes() {
        // Writing to a string does not fail.
        let _ = write!(out, "\\x{byte:02X}");
    }
}

/// A character that stands for itself.
fn push_literal(char: char, out: &mut String) {
    if char.is_ascii_punctuation() {
        out.push('\\');
    }
    push_bytes(char, out);
}

/// Behind a backslash, outside of classes.
fn escape(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    let char = rest.next().ok_or("a backslash at the end")?;
    match char {
        'Q' => quoted(rest, out),
        'E' => {}
        // For fancy-regex these are the start and the end of a word.
        '<' | '>' => out.push(char),
        'h' => out.push_str("[\\t \\xA0]"),
        'H' => out.push_str("[^\\t \\xA0]"),
        'x' => hexadecimal(rest, out)?,
        '1'..='9' | 'A' | 'B' | 'D' | 'K' | 'N' | 'S' | 'W' | 'Z' => out.extend(['\\', char]),
        'a' | 'b' | 'd' | 'e' | 'f' | 'k' | 'n' | 'r' | 's' | 't' | 'w' | 'z' => out.extend(['\\', char]),
        _ if char.is_ascii_alphanumeric() => return Err(format!("\\{char} is not supported")),
        _ => push_literal(char, out),
    }
    Ok(())
}

/// Behind `\x`: up to two digits, or any number of them in braces. The number of a byte.
fn hexadecimal(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    let in_braces = rest.next_if_eq(&'{').is_some();
    let mut digits = String::new();
    while let Some(digit) = rest.next_if(|char| char.is_ascii_hexdigit() && (in_braces || digits.len() < 2)) {
        digits.push(digit);
    }
    if in_braces && (digits.is_empty() || rest.next() != Some('}')) {
        return Err("\\x{ without digits and a brace".into());
    }
    let byte = if digits.is_empty() { Ok(0) } else { u8::from_str_radix(&digits, 16) };
    let byte = byte.map_err(|_| format!("\\x{{{digits}}} is no byte"))?;
    // Writing to a string does not fail.
    let _ = write!(out, "\\x{byte:02X}");
    Ok(())
}

/// Everything up to `\E` stands for itself.
fn quoted(rest: &mut Rest<'_>, out: &mut String) {
    while let Some(char) = rest.next() {
        if char == '\\' && rest.next_if_eq(&'E').is_some() {
            return;
        }
        push_literal(char, out);
    }
}

/// Behind an opening brace, which stands for itself unless a repetition follows.
fn brace(rest: &Rest<'_>, out: &mut String) -> Result<(), String> {
    out.push_str(if is_repetition(rest)? { "{" } else { "\\{" });
    Ok(())
}

/// Returns true if the text after a brace makes the brace a repetition: `3}`, `3,}` or `3,5}`.
///
/// Errors: the numbers are in the wrong order.
fn is_repetition(rest: &Rest<'_>) -> Result<bool, String> {
    let text: String =
        rest.clone().take_while(|char| *char != '}' && (char.is_ascii_digit() || *char == ',')).collect();
    if rest.clone().nth(text.len()) != Some('}') {
        return Ok(false);
    }
    let (least, most) = text.split_once(',').unwrap_or((&text, ""));
    if least.is_empty() || most.contains(',') {
        return Ok(false);
    }
    // Numbers of more digits are refused as too large a repetition.
    let [least, most] = [least, most].map(|digits| digits.parse::<u64>().ok());
    if most.is_some() && most < least {
        return Err(format!("{{{text}}} has its numbers in the wrong order"));
    }
    Ok(true)
}

/// Behind an opening parenthesis.
fn group(rest: &mut Rest<'_>, out: &mut String, groups: &mut Groups) -> Result<(), String> {
    match rest.peek() {
        Some('*') => return Err("(*...) is not supported".into()),
        Some('?') => {}
        _ => {
            groups.count += 1;
            out.push('(');
            return Ok(());
        }
    }
    let mut ahead = rest.clone();
    ahead.next();
    let is_known = match ahead.next() {
        Some('#') => {
            // A comment. PCRE ends it at the first parenthesis, too.
            return rest.find(|char| *char == ')').map(|_| ()).ok_or_else(|| "a comment without end".into());
        }
        Some('(') => return condition(rest, out, groups),
        Some(':' | '=' | '!' | '>') => true,
        Some('<') => {
            // Anything else behind `(?<` is the name of a group.
            groups.count += usize::from(!matches!(ahead.next(), Some('=' | '!')));
            true
        }
        Some('P') => {
            groups.count += 1;
            ahead.next() == Some('<')
        }
        // Options: `(?i)` and `(?i-s:...)`. In the extended syntax of `x` a comment could look like a class.
        Some(first) => {
            let mut option = Some(first);
            while option.is_some_and(|char| "ims-".contains(char)) {
                option = ahead.next();
            }
            matches!(option, Some(')' | ':'))
        }
        None => false,
    };
    if is_known {
        out.push('(');
        Ok(())
    } else {
        let shown: String = rest.clone().take(3).collect();
        Err(format!("({shown} is not supported"))
    }
}

/// Before the `?(` of a condition: the number of a group, as in `(?(1)...)`, `(?(-1)...)` and `(?(+1)...)`, or its name, as in
/// `(?(<name>)...)`.
fn condition(rest: &mut Rest<'_>, out: &mut String, groups: &mut Groups) -> Result<(), String> {
    let text: String = rest.by_ref().skip(2).take_while(|char| *char != ')').take(64).collect();
    let wrong = || format!("(?({text}) is not supported");
    let name = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    if name.is_some_and(is_name) {
        push_condition(&text, out);
        return Ok(());
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: usize = digits.parse().map_err(|_| wrong())?;
    let number = match text.as_bytes() {
        _ if number == 0 => 0,
        [b'-', ..] => (groups.count + 1).saturating_sub(number),
        [b'+', ..] => groups.count.saturating_add(number),
        _ => number,
    };
    groups.named.push((number, size_of_rest(rest)));
    push_condition(&number.to_string(), out);
    Ok(())
}

/// A condition on a group. Without a branch fancy-regex takes the condition for an assertion, so there is one, which is empty.
fn push_condition(group: &str, out: &mut String) {
    out.extend(["(?(", group, ")(?=)"]);
}

/// Returns true if a group may have that name.
fn is_name(text: &str) -> bool {
    let has_no_digit_first = !text.starts_with(|char: char| char.is_ascii_digit());
    !text.is_empty()
        && has_no_digit_first
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Behind an opening bracket.
fn class(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if rest.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    loop {
        match rest.next().ok_or("a class without end")? {
            ']' => break,
            '[' => posix_class(rest, out)?,
            '\\' => escape_in_class(rest, out)?,
            '-' if rest.peek() == Some(&'-') => return Err("-- in a class is not supported".into()),
            char @ ('&' | '~' | '^') => out.extend(['\\', char]),
            char => push_bytes(char, out),
        }
    }
    out.push(']');
    Ok(())
}

/// Behind a bracket in a class: `:alpha:]`, or the bracket stands for itself.
fn posix_class(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    match rest.peek() {
        Some(':') => {}
        Some('.' | '=') => return Err("collating elements are not supported".into()),
        _ => {
            out.push_str("\\[");
            return Ok(());
        }
    }
    let name: String =
        rest.clone().skip(1).take_while(|char| char.is_ascii_lowercase() || *char == '^').collect();
    let end: String = rest.clone().skip(1 + name.len()).take(2).collect();
    if end != ":]" {
        out.push_str("\\[");
        return Ok(());
    }
    if !CLASSES.contains(&name.strip_prefix('^').unwrap_or(&name)) {
        return Err(format!("unknown class [:{name}:]"));
    }
    out.push('[');
    out.extend(rest.by_ref().take(name.len() + 3));
    Ok(())
}

/// Behind a backslash in a class.
fn escape_in_class(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    let char = rest.next().ok_or("a backslash at the end")?;
    match char {
        'b' => out.push_str("\\x08"),
        'x' => hexadecimal(rest, out)?,
        'a' | 'd' | 'D' | 'e' | 'f' | 'n' | 'r' | 's' | 'S' | 't' | 'w' | 'W' => out.extend(['\\', char]),
        _ if char.is_ascii_alphanumeric() => return Err(format!("\\{char} in a class is not supported")),
        _ => push_literal(char, out),
    }
    Ok(())
}
