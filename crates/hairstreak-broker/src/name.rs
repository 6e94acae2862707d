//! Names of exchanges and queues in methods that declare, delete and bind: as in RabbitMQ, line breaks in them do not count.
//!
//! This crate never changes a name. The owner of a connection first removes the line breaks. Then it checks the rights and acts
//! with the same value: a name that changes after the check would get around the rights.

use std::borrow::Cow;

/// Returns the name that a client means in a method that declares, deletes or binds: `name` without carriage returns and line
/// feeds. Publishing, consuming, purging and the exchanges that arguments name take a name as it is.
pub fn without_line_breaks(name: &[u8]) -> Cow<'_, [u8]> {
    if name.iter().any(is_line_break) {
        Cow::Owned(name.iter().copied().filter(|byte| !is_line_break(byte)).collect())
    } else {
        Cow::Borrowed(name)
    }
}

fn is_line_break(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_anywhere_in_a_name_go_and_all_else_stays() {
        for (name, meant) in [
            ("q", "q"),
            ("\nq", "q"),
            ("se\r\ncret\n", "secret"),
            ("\r\n", ""),
            ("", ""),
            ("a b\tc\u{2028}", "a b\tc\u{2028}"),
            ("a\u{b}\u{c}\u{85}b", "a\u{b}\u{c}\u{85}b"),
        ] {
            assert_eq!(*without_line_breaks(name.as_bytes()), *meant.as_bytes(), "{name:?}");
        }
    }
}
