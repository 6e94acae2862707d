//! `run`: from the command line to the exit status; and `node`, with the directory it names.

use std::error::Error;
use std::process::ExitCode;

use hairstreak::{BuildError, Node};

use crate::arguments::{Arguments, Usage};

/// Runs a program with what it was called with. Status 1: that made no sense, or it failed.
pub fn run<const INTERFACES: usize>(
    usage: Usage<INTERFACES>,
    program: impl FnOnce(&Arguments<INTERFACES>) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(arguments) = usage.parse(&words) else {
        eprintln!("{}", usage.line());
        return ExitCode::FAILURE;
    };
    match program(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", usage.program);
            ExitCode::FAILURE
        }
    }
}

/// A node with the directory at `host`. Says so where that cannot be looked up just now.
pub fn node(host: &str) -> Result<Node, BuildError> {
    Node::builder().directory(host).on_delay(|reason| eprintln!("{reason}, trying again")).build()
}
