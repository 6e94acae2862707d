//! `one_line`: untrusted text as a single line without an effect on the terminal.
//!
//! Some characters move the cursor, end a line, turn the direction of the text around or show nothing: control and format characters, separators of lines and
//! paragraphs, odd spaces, and code points without a character. They are written as escapes.

use std::fmt::Write;

/// Returns `true` if a character is shown as itself, without an effect on its neighbours.
pub fn is_shown(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_control();
    }
    // The first character of a text is escaped if it could join the character before. `character` is the second here.
    let text = String::from_iter(['a', character]);
    text.escape_debug().nth(1) == Some(character)
}

/// Returns `text` with escapes in place of characters that are not shown.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match is_shown(character) {
            true => line.push(character),
            false => line.extend(character.escape_default()),
        }
    }
    line
}

/// Returns JSON whose strings have escapes in place of characters that are not shown, as in [`one_line`].
pub fn one_line_of_json(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for character in json.chars() {
        if is_shown(character) {
            line.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Control characters, the ends of lines and paragraphs, marks of direction, characters without width, odd spaces, tags, a noncharacter.
    const HIDDEN: &str = "\u{85}\u{ad}\u{61c}\u{200b}\u{200e}\u{2028}\u{2029}\u{202e}\u{2066}\u{3000}\u{feff}\u{e0041}\u{ffff}";

    #[test]
    fn what_moves_a_cursor_or_hides_is_written_out() {
        assert_eq!(one_line("a \"b\" \u{e4}\\n"), "a \"b\" \u{e4}\\n");
        assert_eq!(one_line("a\nb\r\t\x1b[2J\u{85}"), "a\\nb\\r\\t\\u{1b}[2J\\u{85}");
        for character in HIDDEN.chars() {
            assert_eq!(one_line(&format!("a{character}b")), format!("a\\u{{{:x}}}b", u32::from(character)));
        }
    }

    #[test]
    fn letters_of_all_languages_and_accents_stay() {
        let text = "na\u{ef}ve e\u{301} \u{65e5}\u{672c} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f98b}";
        assert_eq!((one_line(text), one_line_of_json(text)), (text.to_owned(), text.to_owned()));
    }

    #[test]
    fn json_says_the_same_with_its_own_escapes() {
        let json = serde_json::to_string(HIDDEN).unwrap();
        let line = one_line_of_json(&json);
        assert!(line.is_ascii() && line.contains("\\u2028") && line.contains("\\udb40\\udc41"), "{line}");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), HIDDEN);
    }
}
