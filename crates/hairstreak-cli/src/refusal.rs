//! The words of clap about arguments that make no sense, as one line; and its help.

use std::io::{IsTerminal, stdout};

use clap::Error;

use crate::failure::Failure;
use crate::output;

/// Prints the help or version that was asked for; anything else is a failure.
pub fn answer(error: &Error) -> Result<(), Failure> {
    match (error.kind(), error.use_stderr()) {
        // Nothing at all was typed: the help is the best answer, on as many lines as it has.
        (clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            output::note(&error.render().to_string());
            Err(Failure::quiet(2))
        }
        (_, false) => {
            let is_plain =
                !stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
            let help = error.render();
            output::print(&if is_plain { help.to_string() } else { help.ansi().to_string() })
        }
        _ => Err(Failure::usage(reason(&error.render().to_string()))),
    }
}

/// The paragraphs before the usage, joined.
fn reason(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let said = text.split("\n\n").take_while(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let joined = |paragraph: &str| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    said.map(joined).collect::<Vec<_>>().join("; ")
}
