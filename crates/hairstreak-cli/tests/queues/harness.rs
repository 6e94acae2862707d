//! `Broker`: a broker, and the program run against it.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::daemon::Daemon;

/// The program under test.
pub const HAIRSTREAK: &str = env!("CARGO_BIN_EXE_hairstreak");
/// Where another broker is.
const OTHER_BROKER: &str = "HAIRSTREAK_TEST_AMQP";

/// A broker. The node ends with it.
pub struct Broker {
    _node: Option<Daemon>,
    pub url: String,
}

/// How a command ended, and what it wrote.
pub struct Outcome {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Broker {
    pub fn start() -> Broker {
        if let Ok(place) = std::env::var(OTHER_BROKER) {
            return Broker { _node: None, url: format!("amqp://{place}") };
        }
        Broker::node("")
    }

    /// Our node, whatever the environment says, with more lines in the part `amqp` of its configuration.
    pub fn node(more: &str) -> Broker {
        let config = folder("node").join("node.toml");
        std::fs::write(&config, format!("[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n{more}\n")).unwrap();
        let config = config.to_str().unwrap();
        let mut node = Daemon::start(
            "serve",
            &["--bind", "tcp://127.0.0.1:*", "--data-dir", "none", "--config", config],
        );
        node.place("directory");
        let url = node.place("amqp").replace("tcp://", "amqp://");
        Broker { _node: Some(node), url }
    }

    /// `hairstreak WORDS...`, with pipes on all sides, killed after two minutes.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["--foreground", "--signal=KILL", "120", HAIRSTREAK])
            .args(words)
            .env("AMQP_URL", &self.url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The same as a process of its own, which no signal is hidden from.
    pub fn spawn(&self, words: &[&str]) -> Child {
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,TERM", HAIRSTREAK]).args(words).env("AMQP_URL", &self.url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs it on that input.
    pub fn run(&self, words: &[&str], input: impl AsRef<[u8]>) -> Outcome {
        end(self.command(words).spawn().unwrap(), input.as_ref())
    }

    /// Runs it without input; all goes well, without a word on standard error. What it wrote.
    #[track_caller]
    pub fn good(&self, words: &[&str]) -> String {
        self.run(words, "").good()
    }

    /// Runs it; it fails with that status. Its one line on standard error.
    #[track_caller]
    pub fn bad(&self, words: &[&str], status: i32) -> String {
        self.run(words, "").bad(status)
    }

    /// Declares a queue that no other test has.
    pub fn queue(&self, name: &str, words: &[&str]) -> String {
        let name = unique(name);
        self.good(&[&["declare", "queue", &name], words].concat());
        name
    }

    /// How many messages wait in a queue.
    #[track_caller]
    pub fn message_count(&self, queue: &str) -> u64 {
        let json = self.good(&["declare", "queue", queue, "--passive", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["messages"].as_u64().unwrap()
    }
}

/// Gives a process its input, and waits for its end.
pub fn end(mut child: Child, input: &[u8]) -> Outcome {
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A process that has ended reads nothing more.
    let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Outcome {
        status: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = String::from_utf8_lossy(&self.stdout);
        let start: String = output.chars().take(200).collect();
        write!(f, "status {:?}, {} bytes {start:?}, errors {:?}", self.status, self.stdout.len(), self.stderr)
    }
}

impl Outcome {
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        String::from_utf8(self.stdout).unwrap()
    }

    #[track_caller]
    pub fn bad(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "{self:?}");
        let line = self.stderr.strip_prefix("hairstreak: ").and_then(|rest| rest.strip_suffix('\n'));
        let line = line.unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(line.lines().count(), 1, "{line}");
        line.to_owned()
    }
}

/// A name that no other test has.
pub fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A new folder.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(unique(&format!("queues-{name}")));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
