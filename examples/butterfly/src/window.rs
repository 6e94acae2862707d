//! The window that a program was started in: what it shows there. A window that is gone stops nobody but
//! those who have a result to show.

use std::error::Error;
use std::io::{self, Write};

/// Shows a line.
pub fn show(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let shown = writeln!(output, "{line}").and_then(|()| output.flush());
    shown.map_err(|error| io::Error::new(error.kind(), format!("cannot write to standard output: {error}")))
}

/// Whether it ended a program that nobody looks at its window any more.
pub(crate) fn is_gone(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Complains, on standard error; whatever `line` contains, on one line.
pub(crate) fn complain(line: &str) {
    let escaped = |character: char| match character.is_control() {
        true => character.escape_default().collect(),
        false => String::from(character),
    };
    let line: String = line.chars().map(escaped).collect();
    // There is nobody to tell.
    let _ = writeln!(io::stderr(), "{line}");
}
