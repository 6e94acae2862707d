//! `Broker`: a broker, and the program run against it.

use std::process::{Child, Command, Stdio};

use crate::daemon::Daemon;
pub use crate::process::{HAIRSTREAK, Outcome, end, folder, unique};

/// The variable with the address of another broker.
const OTHER_BROKER: &str = "HAIRSTREAK_TEST_AMQP";

/// A broker. The node ends with it.
pub struct Broker {
    _node: Option<Daemon>,
    pub url: String,
}

impl Broker {
    pub fn start() -> Broker {
        if let Ok(place) = std::env::var(OTHER_BROKER) {
            return Broker { _node: None, url: format!("amqp://{place}") };
        }
        Broker::node("")
    }

    /// Our node, even if the environment names another broker, with more lines in the part `amqp` of its configuration.
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

    /// `hairstreak WORDS...` with pipes for its standard streams, killed after two minutes.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["--foreground", "--signal=KILL", "120", HAIRSTREAK])
            .args(words)
            .env("AMQP_URL", &self.url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The same process without the time limit, so that signals reach it.
    pub fn spawn(&self, words: &[&str]) -> Child {
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,TERM", HAIRSTREAK]).args(words).env("AMQP_URL", &self.url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs the program on this input.
    pub fn run(&self, words: &[&str], input: impl AsRef<[u8]>) -> Outcome {
        end(self.command(words).spawn().unwrap(), input.as_ref())
    }

    /// Runs the program without input. It must succeed, with nothing on standard error. Returns its output.
    #[track_caller]
    pub fn good(&self, words: &[&str]) -> String {
        self.run(words, "").good()
    }

    /// Runs the program. It must fail with this status. Returns its one line on standard error.
    #[track_caller]
    pub fn bad(&self, words: &[&str], status: i32) -> String {
        self.run(words, "").bad(status)
    }

    /// Declares a queue of this test alone.
    pub fn queue(&self, name: &str, words: &[&str]) -> String {
        let name = unique(name);
        self.good(&[&["declare", "queue", &name], words].concat());
        name
    }

    /// The number of messages that wait in a queue.
    #[track_caller]
    pub fn message_count(&self, queue: &str) -> u64 {
        let json = self.good(&["declare", "queue", queue, "--passive", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["messages"].as_u64().unwrap()
    }
}
