//! The chores of this checkout, run as `cargo run -p xtask -- CHORE`. Not part of the product.

use std::path::Path;
use std::process::ExitCode;

use xtask::{mutations, tidy};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["ratchets"] => run_ratchets(),
        ["mutations", ref names @ ..] => run_mutations(names),
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy | ratchets | mutations [NAME...]");
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    match tidy::check_checkout(Path::new(xtask::CHECKOUT)) {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            findings.iter().for_each(|finding| println!("{finding}"));
            ExitCode::FAILURE
        }
        Err(error) => fail(error),
    }
}

/// Lowers the record of the ratchets to what the checkout has, unless something grew.
fn run_ratchets() -> ExitCode {
    let path = Path::new(xtask::CHECKOUT).join(tidy::RATCHETS);
    match tidy::lowered_record(Path::new(xtask::CHECKOUT)) {
        Ok(Ok(text)) => match std::fs::write(path, text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(error),
        },
        Ok(Err(grown)) => {
            grown.iter().for_each(|finding| println!("{finding}"));
            ExitCode::FAILURE
        }
        Err(error) => fail(error),
    }
}

/// Makes each mutation, and tells whether the simulators find all of them.
fn run_mutations(names: &[&str]) -> ExitCode {
    match mutations::check(Path::new(xtask::CHECKOUT), names) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => fail(error),
    }
}

fn fail(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("xtask: {error}");
    ExitCode::from(2)
}
