//! Programs as they are started by hand, in one window each.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::Once;

use hairstreak_testkit::BoundedChild;

use crate::host::Host;

pub const SEND_REQUESTS: &str = env!("CARGO_BIN_EXE_send_requests");
pub const INTERMEDIATE: &str = env!("CARGO_BIN_EXE_intermediate");
pub const RECEIVE_REPLIES: &str = env!("CARGO_BIN_EXE_receive_replies");
pub const COMPONENT1: &str = env!("CARGO_BIN_EXE_component1");
pub const COMPONENT2: &str = env!("CARGO_BIN_EXE_component2");

/// A running program and its window. Dropping it kills it.
pub struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub fn start(host: &Host, program: &str, arguments: &[&str]) -> Program {
        let mut child = host
            .command(program)
            .args(arguments)
            .env("HAIRSTREAK_USER", USER)
            .env("HAIRSTREAK_PASSWORD", PASSWORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Program { child, output }
    }

    /// The next line it prints; empty when it ended.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn expect(&mut self, line: &str) {
        assert_eq!(self.line(), line);
    }

    pub fn hit_enter(&mut self) {
        self.type_bytes(b"\n");
    }

    pub fn type_bytes(&mut self, bytes: &[u8]) {
        self.child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Ends its input and waits for it to end.
    pub fn end_input(mut self) -> ExitStatus {
        drop(self.child.stdin.take());
        self.child.end()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The user of the components.
const USER: &str = "butterfly";
const PASSWORD: &str = "wings";

/// A configuration with that user, whose password has RabbitMQ's hash.
fn configuration() -> PathBuf {
    static WRITTEN: Once = Once::new();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("butterfly-node.toml");
    let hash = "AQIDBBa6nwrNrfjxn9968PJ/5ySGx01jehi4uK0eq0eefW+W";
    let text = format!("[[users]]\nname = \"{USER}\"\npassword_hash = \"{hash}\"\n");
    WRITTEN.call_once(|| fs::write(&path, text).unwrap());
    path
}

/// Starts `hairstreak serve`, which the tests of hairstreak-cli build into the same folder.
pub fn serve(host: &Host, port: &str) -> (Program, String) {
    let hairstreak = Path::new(SEND_REQUESTS).with_file_name("hairstreak");
    assert!(hairstreak.exists(), "{} is missing: cargo build -p hairstreak-cli", hairstreak.display());
    // Some of the components are on other hosts, which need credentials.
    let everywhere = format!("tcp://*:{port}");
    let config = configuration();
    let words = ["serve", "--bind", &everywhere, "--data-dir", "none", "--config", config.to_str().unwrap()];
    let mut node = Program::start(host, hairstreak.to_str().unwrap(), &words);
    let line = node.line();
    let port = line.strip_prefix("directory at tcp://*:").unwrap_or_else(|| panic!("{line:?}")).to_owned();
    (node, port)
}

/// The three singletons, each on its host, of a butterfly for so many transactions.
pub struct Singletons {
    pub send_requests: Program,
    _others: [Program; 2],
}

impl Singletons {
    /// `interface`: where they listen; `None` uses the short form of their arguments.
    pub fn start(hosts: [&Host; 3], directory: &str, interface: Option<&str>, count: &str) -> Singletons {
        let arguments = |interfaces: usize, count: Option<&str>| -> Vec<String> {
            let interfaces = interface.into_iter().flat_map(|name| vec![name; interfaces]);
            [directory].into_iter().chain(interfaces).chain(count).map(str::to_owned).collect()
        };
        let start = |host, program, arguments: Vec<String>| {
            Program::start(host, program, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let mut send_requests = start(hosts[0], SEND_REQUESTS, arguments(2, Some(count)));
        send_requests.expect("Hit ENTER to start!");
        let mut intermediate = start(hosts[1], INTERMEDIATE, arguments(2, None));
        intermediate.expect("Ready.");
        let mut receive_replies = start(hosts[2], RECEIVE_REPLIES, arguments(1, Some(count)));
        receive_replies.expect("Ready.");
        Singletons { send_requests, _others: [intermediate, receive_replies] }
    }

    /// One run. Returns the throughput it printed.
    pub fn run(&mut self) -> f64 {
        self.begin();
        self.finish()
    }

    pub fn begin(&mut self) {
        self.send_requests.hit_enter();
        self.send_requests.expect("Running...");
    }

    pub fn finish(&mut self) -> f64 {
        let line = self.send_requests.line();
        self.send_requests.expect("Hit ENTER to start!");
        let number = line.strip_prefix("Throughput: ");
        let number = number.and_then(|rest| rest.strip_suffix(" transactions/second."));
        let number = number.unwrap_or_else(|| panic!("{line:?}"));
        assert_eq!(number.split_once('.').map(|(_, decimals)| decimals.len()), Some(3), "{line:?}");
        number.parse().unwrap()
    }
}

/// Starts workers, the first step's first, each when the one before is ready.
pub fn start_workers(host: &Host, directory: &str, steps: [(usize, &str); 2]) -> Vec<Program> {
    let mut workers = Vec::new();
    for ((instances, time_ms), program) in steps.into_iter().zip([COMPONENT1, COMPONENT2]) {
        for _ in 0..instances {
            let mut worker = Program::start(host, program, &[directory, time_ms]);
            worker.expect("Ready.");
            workers.push(worker);
        }
    }
    workers
}
