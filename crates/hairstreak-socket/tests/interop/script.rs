//! `Script`: another implementation in a process of its own, a script of tests/python or the program of
//! tests/java, spoken to line by line.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use hairstreak_testkit::BoundedChild;
use rustix::process::{Pid, Signal, kill_process};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// A running script. Dropped before it has finished, it is killed.
pub struct Script {
    name: String,
    child: Child,
    /// `None` once nothing more will be said.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Script {
    /// Starts a script of tests/python with these arguments.
    pub fn python<A: ToString>(script: &str, arguments: impl IntoIterator<Item = A>) -> Script {
        let arguments: Vec<String> = arguments.into_iter().map(|argument| argument.to_string()).collect();
        let name = format!("{script} {}", arguments.join(" "));
        let mut command = Command::new(format!("{CRATE}/../../.venv/bin/python"));
        command.arg(format!("{CRATE}/tests/python/{script}")).args(&arguments);
        Script::start(name, &mut command)
    }

    /// Starts tests/java/Cells.java.
    pub fn java() -> Script {
        static CLASSES: OnceLock<String> = OnceLock::new();
        let jars = format!("{CRATE}/../../.jeromq/jeromq-0.6.0.jar:{CRATE}/../../.jeromq/jnacl-1.0.0.jar");
        let classes = CLASSES.get_or_init(|| java_classes(&jars));
        let mut command = Command::new("java");
        // It lives for seconds: it should start soon and share the machine.
        command.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]);
        command.args(["-classpath", &format!("{classes}:{jars}"), "Cells"]);
        Script::start("Cells.java".to_owned(), &mut command)
    }

    fn start(name: String, command: &mut Command) -> Script {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child
            .unwrap_or_else(|e| panic!("{name}: {e}: run scripts/test-setup, which installs what it needs"));
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Script { name, child, input, output: BufReader::new(output) }
    }

    /// The rest of the script's next line, which begins with `word`.
    pub fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        match line.trim_end().split_once(' ').unwrap_or((line.trim_end(), "")) {
            (first, rest) if first == word => rest.to_owned(),
            _ => panic!("{}: said {line:?} instead of {word}", self.name),
        }
    }

    /// Has the script go on.
    pub fn say(&mut self, word: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{word}").unwrap_or_else(|e| panic!("{}: {e}", self.name));
    }

    /// Stops the process as it stands: its connections stay, it answers nothing.
    pub fn freeze(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
    }

    /// Has a frozen process go on.
    pub fn thaw(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    /// Tells the script that nothing more will be said, and waits for its end, which must be a good one.
    pub fn finish(mut self) {
        self.input = None;
        let status = self.child.end();
        assert!(status.success(), "{}: {status}", self.name);
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

/// The folder of the compiled tests/java, which is named for what it was compiled from.
fn java_classes(jars: &str) -> String {
    let source = format!("{CRATE}/tests/java/Cells.java");
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(&source).unwrap());
    let classes = format!("{}/java-{:016x}", env!("CARGO_TARGET_TMPDIR"), hasher.finish());
    if !fs::exists(&classes).unwrap() {
        let fresh = format!("{classes}-{}", std::process::id());
        let mut compiler = Command::new("ecj");
        compiler.args(["-proc:none", "-source", "17", "-target", "17", "-classpath", jars, "-d", &fresh]);
        let status = compiler.arg(&source).status();
        assert!(status.is_ok_and(|s| s.success()), "ecj: run scripts/test-setup, which installs it");
        if fs::rename(&fresh, &classes).is_err() {
            // Another process was faster.
            fs::remove_dir_all(&fresh).unwrap();
        }
    }
    classes
}

impl Drop for Script {
    fn drop(&mut self) {
        // Only a child that has been waited for cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
