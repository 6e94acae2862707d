//! `Trial`: the simulators of one crate are built and run in the copy of the checkout.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Tests that run longer than this do not end.
const SECONDS_MAX: u64 = 120;
/// The same for the long form of the tests.
const THOROUGH_SECONDS_MAX: u64 = 3_600;
/// How often the tests are asked whether they have ended.
const POLL: Duration = Duration::from_millis(20);
/// Parts of the names of tests that compare with a model, or lose power.
const TESTS: [&str; 2] = ["model", "power"];

/// The output of the simulators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All of them pass.
    Passed,
    /// Something is wrong: which test with which seed.
    Failed(String),
}

/// Where the tests of one crate are built and run.
pub(super) struct Trial<'a> {
    /// The root of the copy.
    pub(super) root: &'a Path,
    /// The folder of the build and of the tests' output.
    pub(super) target: &'a Path,
    /// The folder of the crate, relative to the root. The crate has the folder's name.
    pub(super) folder: &'a str,
}

impl Trial<'_> {
    /// Builds the tests and runs them.
    ///
    /// # Errors
    ///
    /// The tests cannot be built or started.
    pub(super) fn run(&self, is_thorough: bool) -> Result<Outcome, String> {
        let binary = self.build()?;
        let output = self.target.join("output");
        let started = self.start(&binary, &output, is_thorough);
        let mut tests = started.map_err(|error| format!("{}: {error}", binary.display()))?;
        let seconds_max = if is_thorough { THOROUGH_SECONDS_MAX } else { SECONDS_MAX };
        let ended = wait(&mut tests, Duration::from_secs(seconds_max)).map_err(|error| error.to_string())?;
        let output = fs::read(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        Ok(match ended {
            Some(status) if status.success() => Outcome::Passed,
            Some(status) => Outcome::Failed(finder(&String::from_utf8_lossy(&output), status)),
            None => Outcome::Failed("the tests do not end".to_owned()),
        })
    }

    fn build(&self) -> Result<PathBuf, String> {
        let package = self.folder.rsplit('/').next().unwrap_or(self.folder);
        let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "-q", "-p", package, "--lib", "--no-run", "--locked"])
            .arg("--message-format=json-render-diagnostics")
            .env("CARGO_TARGET_DIR", self.target)
            .env("CARGO_INCREMENTAL", "1")
            .current_dir(self.root)
            .output()
            .map_err(|error| format!("cargo cannot be run: {error}"))?;
        if !built.status.success() {
            return Err(format!("does not compile\n{}", String::from_utf8_lossy(&built.stderr)));
        }
        let artifacts = String::from_utf8_lossy(&built.stdout);
        executable(&artifacts).map(PathBuf::from).ok_or_else(|| "cargo built no tests".to_owned())
    }

    fn start(&self, binary: &Path, output: &Path, is_thorough: bool) -> io::Result<Child> {
        let output = File::create(output)?;
        let mut command = Command::new(binary);
        command.args(TESTS).current_dir(self.root.join(self.folder));
        command.env("RUST_BACKTRACE", "0").env_remove("HAIRSTREAK_SIMULATION_SEED");
        command.env_remove("HAIRSTREAK_SIMULATION_TRACE").env_remove("HAIRSTREAK_SOAK");
        if is_thorough {
            command.env("HAIRSTREAK_SOAK", "1");
        }
        command.stdout(output.try_clone()?).stderr(output).spawn()
    }
}

/// The path of the binary in what cargo says it has built.
fn executable(artifacts: &str) -> Option<&str> {
    const FIELD: &str = "\"executable\":\"";
    let start = artifacts.rfind(FIELD)? + FIELD.len();
    artifacts[start..].split('"').next()
}

/// Waits until the tests end, or ends them.
fn wait(tests: &mut Child, longest: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < longest {
        if let Some(status) = tests.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    tests.kill()?;
    tests.wait()?;
    Ok(None)
}

/// The tests that failed, with their seeds.
fn finder(output: &str, status: ExitStatus) -> String {
    let mut found: Vec<String> = Vec::new();
    for line in output.lines() {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            found.push(name.rsplit_once("::").map_or(name, |(module, _)| module).to_owned());
        } else if let Some((seed, _)) = line.strip_prefix("seed ").and_then(|rest| rest.split_once(':'))
            && let Some(last) = found.last_mut()
        {
            last.push_str(&format!(" seed {seed}"));
        }
    }
    if found.is_empty() { format!("the tests ended with {status}") } else { found.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_that_failed_are_named_with_their_seeds() {
        let output = "running 2 tests\n---- a::tests::model::works stdout ----\nseeds 0..100\nseed 7: to replay it\n\
                      ---- b::tests::model::works stdout ----\nminimal failing input\n\nfailures:\n";
        let status = ExitStatus::default();
        assert_eq!(finder(output, status), "a::tests::model seed 7, b::tests::model");
        assert!(finder("running 2 tests\n", status).contains("ended with"));
    }

    #[test]
    fn the_binary_is_found_in_the_words_of_cargo() {
        let artifacts = "{\"executable\":null}\n{\"executable\":\"/target/debug/deps/a-1\",\"fresh\":true}\n";
        assert_eq!(executable(artifacts), Some("/target/debug/deps/a-1"));
        assert_eq!(executable("{\"executable\":null}"), None);
    }
}
