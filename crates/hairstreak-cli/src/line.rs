//! `one_line`: text from anywhere as a single line that does nothing to a terminal.

/// `text` with its control characters written as escapes.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn what_moves_a_cursor_is_written_out() {
        assert_eq!(one_line("a \"b\" \u{e4}\\n"), "a \"b\" \u{e4}\\n");
        assert_eq!(one_line("a\nb\r\t\x1b[2J\u{85}"), "a\\nb\\r\\t\\u{1b}[2J\\u{85}");
    }
}
