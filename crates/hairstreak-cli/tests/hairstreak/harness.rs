//! Folders for topologies, and runs of the built binary in them.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hairstreak_testkit::{BoundedChild, BoundedCommand, until};
use rustix::process::Pid;
use serde_json::Value;

/// The time limit of expected events.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The binary under test.
pub const HAIRSTREAK: &str = env!("CARGO_BIN_EXE_hairstreak");

/// A file of this checkout.
pub fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The Python that `make test` prepares, with pyzmq.
pub fn python() -> String {
    let python = checkout(".venv/bin/python");
    assert!(python.exists(), "{} is missing; scripts/test-setup makes it", python.display());
    python.display().to_string()
}

/// A new folder with a topology in it.
pub struct Job {
    pub folder: PathBuf,
}

/// The output of a command and its end.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Job {
    pub fn new(topology: &str) -> Job {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("job-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("job.toml"), topology).unwrap();
        Job { folder }
    }

    /// Adds a file.
    pub fn with(self, name: &str, content: impl AsRef<[u8]>) -> Job {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// Runs `hairstreak COMMAND job.toml OPTIONS` in the folder.
    pub fn command(&self, command: &str, options: &[&str]) -> Command {
        let mut process = Command::new(HAIRSTREAK);
        process.arg(command).arg("job.toml").args(options).current_dir(&self.folder).stdin(Stdio::null());
        process
    }

    pub fn plan(&self, options: &[&str]) -> Outcome {
        self.command("plan", options).run_to_end().into()
    }

    pub fn run(&self, options: &[&str]) -> Outcome {
        self.command("run", options).run_to_end().into()
    }

    /// Runs the command with this standard input.
    pub fn run_on(&self, stdin: &str) -> Outcome {
        let mut process = self.start(&[]);
        process.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        process.end_with_output().into()
    }

    /// Starts the command with pipes for its standard streams.
    pub fn start(&self, options: &[&str]) -> Child {
        let mut command = self.command("run", options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts the command as [`Job::start`] does, for at most a minute: a failing test would wait for ever otherwise. Signals
    /// are passed on.
    pub fn start_guarded(&self, options: &[&str]) -> Child {
        let mut command = Command::new("timeout");
        command.args(["--foreground", "--signal=KILL", "60", HAIRSTREAK, "run", "job.toml"]).args(options);
        command.current_dir(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs the command to its end. Returns its measurements.
    pub fn measure(&self) -> Value {
        self.run(&["--json"]).succeeded().json()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // A failed test keeps its folder for inspection.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Outcome {
        Outcome {
            status: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    pub fn succeeded(self) -> Outcome {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{self:?}");
        self
    }

    /// The command must have failed with this status and a single line. Returns the line without its prefix.
    pub fn refusal(&self, status: i32) -> &str {
        assert_eq!(self.status, status, "{self:?}");
        let line = self.stderr.strip_prefix("hairstreak: ").unwrap_or_else(|| panic!("{self:?}"));
        let line = line.strip_suffix('\n').unwrap_or_else(|| panic!("{self:?}"));
        assert!(!line.contains('\n'), "{self:?}");
        line
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The lines of the output, sorted.
    pub fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A process of an instance.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The process of the instance.
    Stage,
    /// The command that it has started.
    Command,
}

/// Waits for the process of this instance of the runner.
pub fn process_of(runner: u32, stage: &str, instance: usize, target: Target) -> Pid {
    let marks = [
        format!("HAIRSTREAK_RUNNER={runner}"),
        format!("HAIRSTREAK_STAGE={stage}"),
        format!("HAIRSTREAK_INSTANCE={instance}"),
    ];
    let is_wanted = |process: &fs::DirEntry| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        let has =
            |mark: &String| environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes());
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let is_stage = line.split(|&byte| byte == 0).nth(1) == Some(b"stage");
        marks.iter().all(has) && is_stage == matches!(target, Target::Stage)
    };
    let process = until(&format!("{stage} {instance} has such a process"), || {
        fs::read_dir("/proc").unwrap().flatten().find(is_wanted)
    });
    process.file_name().to_str().unwrap().parse().ok().and_then(Pid::from_raw).unwrap()
}
