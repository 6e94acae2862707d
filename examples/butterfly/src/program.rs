//! `run`: from the command line to the exit status.

use std::error::Error;
use std::process::ExitCode;

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
