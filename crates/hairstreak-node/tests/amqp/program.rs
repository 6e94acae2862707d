//! The programs that test a broker: Python scripts of this folder, and what is run with their output kept.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of this checkout.
pub fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A script of this folder.
pub fn python(script: &str) -> Command {
    let python = checkout().join(".venv/bin/python");
    assert!(python.exists(), "{} is missing; scripts/test-setup makes it", python.display());
    let mut command = Command::new(python);
    command.arg("-B").arg(checkout().join("crates/hairstreak-node/tests/amqp").join(script));
    command
}

/// Runs a program, which has to end well, and returns what it said.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{complaints}", output.status);
    // Retries are no failure, and have to be seen all the same: a test that succeeds prints nothing else.
    for line in said.lines().filter(|line| line.starts_with("RabbitMQ: ")) {
        io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    said
}
