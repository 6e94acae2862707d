//! `JsonText`: JSON as RabbitMQ 3.10 reads it, made into JSON that every reader takes.
//!
//! | in the text | becomes |
//! |---|---|
//! | a mark of the byte order (UTF-8), comments `/* */` and `//`, a comma behind the last item | spaces, line by line |
//! | a string in single quotes | a string in double quotes |
//! | control characters in a string | escapes |
//! | an escape that JSON does not have, `\'` | the characters as they are |
//! | half of a pair of UTF-16, bytes that are no UTF-8 | U+FFFD |
//!
//! All other text is unchanged, and the reader refuses errors there. The place of an error is the place in the original text.

use std::borrow::Cow;

/// The mark of the byte order in UTF-8, which editors put in front of a text.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// U+FFFD in UTF-8, and as an escape.
const UNKNOWN: &[u8] = "\u{fffd}".as_bytes();
const UNKNOWN_ESCAPE: &[u8] = b"\\ufffd";

/// A text, and the JSON that it stands for.
#[derive(Debug)]
pub struct JsonText<'a> {
    given: &'a [u8],
    json: Cow<'a, [u8]>,
}

/// The way through a text.
struct Tidying<'a> {
    given: &'a [u8],
    at: usize,
    json: Vec<u8>,
    /// A place of the JSON, and that of the text that became it.
    sought: usize,
    found: Option<usize>,
    /// The last byte that counts, and its place in the JSON.
    last: (u8, usize),
    /// The byte that counted before.
    before_last: u8,
}

impl<'a> JsonText<'a> {
    /// The JSON that a text stands for. The text is copied only if the two differ.
    pub fn new(given: &'a [u8]) -> JsonText<'a> {
        if is_plain(given) {
            return JsonText { given, json: given.into() };
        }
        let mut tidying = Tidying::new(given, usize::MAX);
        tidying.run();
        JsonText { given, json: tidying.json.into() }
    }

    /// The JSON.
    pub fn bytes(&self) -> &[u8] {
        &self.json
    }

    /// An error of a reader of the JSON, with the line and the column of the text.
    pub fn explain(&self, error: &serde_json::Error) -> String {
        if self.given.starts_with(b"\xff\xfe") || self.given.starts_with(b"\xfe\xff") {
            return "the text is UTF-16, and JSON is UTF-8 at line 1 column 1".into();
        }
        let said = error.to_string();
        let reason = said.split(" at line ").next().unwrap_or_default();
        let line_start =
            self.json.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let place = line_start.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        let before = &self.given[..self.given_place(place).min(self.given.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        format!("{reason} at line {line} column {column}")
    }
}

impl JsonText<'_> {
    /// Returns the place in the given text of a place in the JSON. Only errors need it, so the text is read again and no map is
    /// kept.
    fn given_place(&self, place: usize) -> usize {
        if matches!(self.json, Cow::Borrowed(_)) {
            return place;
        }
        let mut tidying = Tidying::new(self.given, place);
        tidying.run();
        tidying.found.unwrap_or(self.given.len())
    }
}

/// Returns true if a text needs no change, as most texts do.
fn is_plain(given: &[u8]) -> bool {
    let (mut is_string, mut is_escaped, mut last) = (false, false, 0);
    for (index, &byte) in given.iter().enumerate() {
        match byte {
            _ if is_escaped => {
                // A unit of UTF-16 that begins with d may be half of a pair.
                let may_be_half = byte == b'u' && matches!(given.get(index + 1), Some(b'd' | b'D'));
                if may_be_half || !b"\"\\/bfnrtu".contains(&byte) {
                    return false;
                }
                is_escaped = false;
            }
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            0..0x20 if is_string => return false,
            b'/' | b'\'' if !is_string => return false,
            b']' | b'}' if !is_string && last == b',' => return false,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
    }
    !given.starts_with(MARK) && std::str::from_utf8(given).is_ok()
}

impl Tidying<'_> {
    fn new(given: &[u8], sought: usize) -> Tidying<'_> {
        Tidying {
            given,
            at: 0,
            json: Vec::with_capacity(given.len()),
            sought,
            found: None,
            last: (0, 0),
            before_last: 0,
        }
    }

    /// Notes the place that is sought, if it is among the next bytes: `count` of the text become `json_count` of the JSON.
    fn seek(&mut self, count: usize, json_count: usize) {
        if self.found.is_none() && self.json.len() + json_count > self.sought {
            self.found = Some(self.at + (self.sought - self.json.len()).min(count));
        }
    }

    fn run(&mut self) {
        if self.given.starts_with(MARK) {
            self.blank(MARK.len());
        }
        while let Some(&byte) = self.given.get(self.at) {
            match byte {
                b'"' | b'\'' => self.string(byte),
                b'/' if self.given[self.at..].starts_with(b"/*") => {
                    let inner = &self.given[self.at + 2..];
                    let end =
                        inner.windows(2).position(|pair| pair == b"*/").map_or(inner.len(), |end| end + 2);
                    self.blank(2 + end);
                }
                b'/' if self.given[self.at..].starts_with(b"//") => {
                    let rest = &self.given[self.at..];
                    self.blank(rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()));
                }
                _ => self.significant(byte),
            }
        }
    }

    /// Takes a byte outside strings.
    fn significant(&mut self, byte: u8) {
        let has_item = !b"[{,:".contains(&self.before_last) && self.before_last != 0;
        if matches!(byte, b']' | b'}') && self.last.0 == b',' && has_item {
            self.json[self.last.1] = b' ';
        }
        if !byte.is_ascii_whitespace() {
            self.note(byte);
        }
        self.seek(1, 1);
        self.json.push(byte);
        self.at += 1;
    }

    fn note(&mut self, byte: u8) {
        self.before_last = self.last.0;
        self.last = (byte, self.json.len());
    }

    /// Puts spaces for that many bytes. Line feeds stay.
    fn blank(&mut self, count: usize) {
        self.seek(count, count);
        let blanked = &self.given[self.at..self.at + count];
        self.json.extend(blanked.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
        self.at += count;
    }

    /// Puts other bytes for `count` bytes.
    fn replace(&mut self, count: usize, by: &[u8]) {
        self.seek(count, by.len());
        self.json.extend_from_slice(by);
        self.at += count;
    }

    fn string(&mut self, quote: u8) {
        self.note(b'"');
        self.replace(1, b"\"");
        while let Some(&byte) = self.given.get(self.at) {
            match byte {
                _ if byte == quote => return self.replace(1, b"\""),
                b'"' => self.replace(1, b"\\\""),
                b'\\' => self.escape(),
                0..0x20 => self.replace(1, &control_escape(byte)),
                0x80.. => self.character(),
                _ => self.replace(1, &[byte]),
            }
        }
    }

    fn escape(&mut self) {
        match self.given.get(self.at + 1) {
            Some(b'u') => self.unicode_escape(),
            Some(b'\'') => self.replace(2, b"'"),
            Some(byte) if b"\"\\/bfnrt".contains(byte) => self.replace(2, &[b'\\', *byte]),
            // The backslash is a character.
            _ => self.replace(1, b"\\\\"),
        }
    }

    /// An escape of one unit of UTF-16, or of a pair of them.
    fn unicode_escape(&mut self) {
        let unit = |at: usize| {
            let digits = self.given.get(at..at + 6)?.strip_prefix(b"\\u")?;
            u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let (first, second) = (unit(self.at), unit(self.at + 6));
        let count = match (first, second) {
            (None, _) => return self.replace(2, b"\\u"),
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => return self.replace(6, UNKNOWN_ESCAPE),
            _ => 6,
        };
        let escape = self.given[self.at..self.at + count].to_vec();
        self.replace(count, &escape);
    }

    /// A character of several bytes, or bytes that are none.
    fn character(&mut self) {
        let rest = &self.given[self.at..self.given.len().min(self.at + 4)];
        match rest.utf8_chunks().next() {
            Some(chunk) if !chunk.valid().is_empty() => {
                let size = chunk.valid().chars().next().map_or(1, char::len_utf8);
                let bytes = rest[..size].to_vec();
                self.replace(size, &bytes);
            }
            Some(chunk) => self.replace(chunk.invalid().len().max(1), UNKNOWN),
            None => self.replace(1, UNKNOWN),
        }
    }
}

/// The escape of a control character.
fn control_escape(byte: u8) -> [u8; 6] {
    let digit = b"0123456789abcdef"[usize::from(byte % 16)];
    [b'\\', b'u', b'0', b'0', b'0' + byte / 16, digit]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &[u8]) -> Result<Value, String> {
        let text = JsonText::new(text);
        serde_json::from_slice(text.bytes()).map_err(|error| text.explain(&error))
    }

    /// RabbitMQ 3.10.8 reads these.
    #[test]
    fn what_rabbitmq_reads_is_read() {
        for text in [
            "{\"a\":[{\"b\":1,},],}",
            "\u{feff}{\"a\":[{\"b\":1}]}",
            "/* c */{/*a*/\"a\"/*b*/:/*c*/[/*d*/{\"b\":1}/*e*/]/*f*/}/* d */",
            "// c\r\n{\"a\":[{\"b\":1}, // x\n ], }// d",
            "{\"a\":[{\"b\":1}]/* ** * / */} /* not closed",
            "{'a':[{'b':1}]}",
            "\t\r\n {\"a\":[{\"b\":1}]}\t\r\n",
        ] {
            assert_eq!(read(text.as_bytes()), Ok(json!({"a": [{"b": 1}]})), "{text}");
        }
        for (text, expected) in [
            (&b"\"a\nb\tc\0\""[..], "a\nb\tc\0"),
            (b"\"\\x41\"", "\\x41"),
            (b"\"\\'\"", "'"),
            (b"'a\"b\\'c'", "a\"b'c"),
            (b"\"// /* , ] */\"", "// /* , ] */"),
            (b"\"\\ud800 \\ud83d\\ude00 \\udc00\"", "\u{fffd} \u{1f600} \u{fffd}"),
            (b"\"\xe4 \xc3\xa4 \xf0\x9f\x98\x80\x01\"", "\u{fffd} \u{e4} \u{1f600}\u{1}"),
            (b"\"a\xe4\"", "a\u{fffd}"),
        ] {
            assert_eq!(read(text), Ok(json!(expected)), "{text:?}");
        }
    }

    /// RabbitMQ 3.10.8 refuses these.
    #[test]
    fn what_is_refused_has_its_line_and_column() {
        for (text, expected) in [
            (&b"{\"a\":1,,}"[..], "key must be a string at line 1 column 8"),
            (b"[1,,]", "expected value at line 1 column 4"),
            (b"{,\"a\":1}", "key must be a string at line 1 column 2"),
            (b"[,]", "expected value at line 1 column 2"),
            (b"{,}", "key must be a string at line 1 column 2"),
            (b"# c\n{}", "expected value at line 1 column 1"),
            (b"{\n /* a\n b */ 'a\"': \"\n\", x}", "key must be a string at line 4 column 4"),
            (b"{'a': '\x01\x1f\\'\xe4\"', x}", "key must be a string at line 1 column 17"),
            (b"{\"a\":NaN}", "expected value at line 1 column 6"),
            (b"{\"a\":01}", "invalid number at line 1 column 7"),
            (b"{} x", "trailing characters at line 1 column 4"),
            (b"\xff\xfe{\0}\0", "the text is UTF-16, and JSON is UTF-8 at line 1 column 1"),
            (b"\xef\xbb\xbf\xef\xbb\xbf{}", "expected value at line 1 column 4"),
        ] {
            assert_eq!(read(text).unwrap_err(), expected, "{text:?}");
        }
    }

    #[test]
    fn plain_text_is_not_copied_and_any_bytes_are_taken() {
        let plain = b"{\"a\": [1, \"/* \\u00e4 */\", {}]}";
        assert!(matches!(JsonText::new(plain).json, Cow::Borrowed(_)));
        println!("seed 1");
        let mut rng = fastrand::Rng::with_seed(1);
        let parts = [
            &b"\""[..],
            b"'",
            b"\\",
            b"\\u",
            b"d800",
            b"\\ude00",
            b",",
            b"]",
            b"}",
            b"{",
            b"[",
            b"/*",
            b"*/",
            b"//",
            b"\n",
            b"a",
            b"\xe4",
            b"\xf0\x9f",
        ];
        for _ in 0..20_000 {
            let text: Vec<u8> =
                (0..rng.usize(..20)).flat_map(|_| parts[rng.usize(..parts.len())]).copied().collect();
            let made = JsonText::new(&text);
            if let Err(error) = serde_json::from_slice::<Value>(made.bytes()) {
                assert!(made.explain(&error).contains(" at line "), "{text:?}");
            }
            // Text that a reader takes as it is means the same.
            if let Ok(value) = serde_json::from_slice::<Value>(&text) {
                assert_eq!(read(&text), Ok(value), "{text:?}");
            }
        }
    }
}
