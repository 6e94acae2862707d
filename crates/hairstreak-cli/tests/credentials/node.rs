//! A node on one host, and programs on that host and another.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use hairstreak_socket::security::{KeyPair, generate_key_pair};
use hairstreak_testkit::BoundedChild;

use crate::network::{Network, from_within};

/// From RabbitMQ's guide to passwords: the password test12.
pub const PASSWORD: &str = "test12";
const PASSWORD_HASH: &str = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";

/// A node with the users `ann`, with a password and a key, and `host`, who may log in only from the node's host.
pub struct NearNode {
    network: Network,
    node: Child,
    folder: PathBuf,
    pub node_keys: KeyPair,
}

/// The host of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The node's host.
    Near,
    /// Another host.
    Far,
}

impl NearNode {
    /// `more` stands at the top of the node's configuration.
    pub fn start(more: &str) -> NearNode {
        let network = Network::new("credentials");
        let folder = std::env::temp_dir().join(network.near());
        fs::create_dir_all(&folder).unwrap();
        let (node_keys, user_keys) = (generate_key_pair().unwrap(), generate_key_pair().unwrap());
        let write = |name: &str, text: &str| fs::write(folder.join(name), format!("{text}\n")).unwrap();
        write("node.key", node_keys.secret().to_z85().as_str());
        write("ann.key", user_keys.secret().to_z85().as_str());
        write("password", PASSWORD);
        write("wrong", "wrong");
        let key = user_keys.public();
        write(
            "node.toml",
            &format!(
                "{more}\n[curve]\nsecret_key_file = \"node.key\"\n\
                 [[users]]\nname = \"ann\"\npassword_hash = \"{PASSWORD_HASH}\"\ncurve = \"{key}\"\n\
                 [[users]]\nname = \"host\"\npassword_hash = \"{PASSWORD_HASH}\"\nloopback_only = true"
            ),
        );
        let mut command = on(&network.near(), Path::new(env!("CARGO_BIN_EXE_hairstreak")));
        command.args(["serve", "--bind", "tcp://*:5682", "--services", "tcp://*:5555", "--no-amqp"]);
        command.args(["--data-dir", "none", "--config"]).arg(folder.join("node.toml"));
        let mut node = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(node.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.starts_with("public key")), "the node has ended");
        NearNode { network, node, folder, node_keys }
    }

    /// The path of a file of the node's folder: `password`, `wrong`, `ann.key`.
    pub fn file(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// A program on this host.
    fn program(&self, host: Host, program: &Path) -> Command {
        match host {
            Host::Near => on(&self.network.near(), program),
            Host::Far => on(&self.network.far(), program),
        }
    }

    /// `hairstreak WORDS...` on this host, without credentials in its environment.
    pub fn command(&self, host: Host, words: &[&str]) -> Command {
        let mut command = self.program(host, Path::new(env!("CARGO_BIN_EXE_hairstreak")));
        command.args(words);
        for name in ["USER", "PASSWORD", "PASSWORD_FILE", "CURVE_KEY", "SERVER_KEY"] {
            command.env_remove(format!("HAIRSTREAK_{name}"));
        }
        command
    }

    /// A script with pyzmq on this host, for actions without a command of ours.
    pub fn script(&self, host: Host, words: &[&str]) -> Command {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = folder.join("../../.venv/bin/python");
        assert!(python.exists(), "{} is missing; scripts/test-setup makes it", python.display());
        let mut command = self.program(host, &python);
        command.arg(folder.join("../hairstreak-management/tests/credentials/credentials.py")).args(words);
        command
    }

    /// Starts a worker of this command for `shout`. Returns after its first answer.
    pub fn worker(&self, host: Host, words: &[&str]) -> Worker {
        let address = if host == Host::Near { "127.0.0.1" } else { Network::NEAR };
        let broker = format!("tcp://{address}:5555");
        let words = [&["worker", "--service", "shout", "--broker", &broker], words].concat();
        let child = self.command(host, &words).args(["--", "tr", "a-z", "A-Z"]).spawn().unwrap();
        let worker = Worker(child);
        let call = ["call", "shout", "hello", "--broker", "tcp://127.0.0.1:5555", "--timeout", "60s"];
        let password = self.file("password");
        let call = &[&call[..], &["--user", "ann", "--password-file", &password]].concat();
        let output = done(&mut self.command(Host::Near, call), "");
        assert!(output.status.success(), "{output:?}");
        worker
    }
}

impl Drop for NearNode {
    fn drop(&mut self) {
        // The node may have ended already, which fails the test.
        let _ = self.node.kill();
        let _ = self.node.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A worker, until this is dropped.
pub struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The output of a program that gets this input.
pub fn done(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program may have ended without reading.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.end_with_output()
}

/// The first line of a program, which is then killed.
pub fn first_line(command: &mut Command) -> String {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut output: BufReader<ChildStdout> = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let _ = child.kill();
    let _ = child.wait();
    line.trim_end().to_owned()
}

fn on(namespace: &str, program: &Path) -> Command {
    from_within(namespace, &Command::new(program))
}
