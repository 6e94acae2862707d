//! `run`: from the command line to the exit status; and `node`, with the directory it names.

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use hairstreak::{Component, Credentials};

use crate::arguments::{Arguments, Usage};
use crate::window::{self, complain};

/// Runs a program with what it was called with. Status 1: that made no sense, or it failed.
/// A window that is closed is an end like any other.
pub fn run<const INTERFACES: usize>(
    usage: Usage<INTERFACES>,
    program: impl FnOnce(&Arguments<INTERFACES>) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    let words: Result<Vec<String>, OsString> =
        std::env::args_os().skip(1).map(OsString::into_string).collect();
    let Some(arguments) = words.ok().and_then(|words| usage.parse(&words)) else {
        complain(&usage.line());
        return ExitCode::FAILURE;
    };
    match program(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if window::is_gone(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{}: {error}", usage.program));
            ExitCode::FAILURE
        }
    }
}

/// A component with the directory at `host`. Says so where that cannot be looked up just now. A directory on another host asks for credentials, which are
/// those of the environment (`HAIRSTREAK_USER`, `HAIRSTREAK_PASSWORD`).
pub fn join(host: &str) -> Result<Component, Box<dyn Error>> {
    let component = Component::builder().directory(host).credentials(Credentials::from_environment()?);
    Ok(component.on_delay(|reason| complain(&format!("{reason}, trying again"))).build()?)
}
