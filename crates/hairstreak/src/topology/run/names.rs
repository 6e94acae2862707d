//! `Names`: what to call a message of a boundary, by its number from 1.

use std::path::PathBuf;
use std::sync::Arc;

/// Where the messages of a boundary come from.
#[derive(Clone, Debug)]
pub(super) enum Names {
    /// The input.
    Numbered,
    /// The input, each message a file.
    Files(Arc<Vec<PathBuf>>),
    /// The stage of that name.
    Results(String),
}

impl Names {
    /// The name of message `number`.
    pub(super) fn of(&self, number: u64) -> String {
        match self {
            Names::Numbered => format!("message {number}"),
            Names::Files(files) => match files.get(number as usize - 1) {
                Some(path) => format!("message {number} ({})", path.display()),
                None => format!("message {number}"),
            },
            Names::Results(stage) => format!("result {number} of stage \"{stage}\""),
        }
    }
}
