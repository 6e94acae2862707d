//! The log of `hairstreak serve`, the reload of its configuration, and its notifications to a supervisor.

#[path = "workbench/daemon.rs"]
#[expect(dead_code, reason = "this test starts processes with an environment of their own")]
mod daemon;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

use daemon::message;
use hairstreak_testkit::{BoundedChild, BoundedCommand};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const HAIRSTREAK: &str = env!("CARGO_BIN_EXE_hairstreak");
/// The time limit of an event, on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// A node with a folder of its own and a configuration that tests change.
struct Node {
    child: Child,
    folder: PathBuf,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

fn certificate(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../hairstreak-transport/tests/streams/certificates")
        .join(name)
}

impl Node {
    /// Starts the node with this configuration, options and environment.
    fn start(name: &str, text: &str, options: &[&str], variables: &[(&str, &str)]) -> Node {
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("log-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("node.toml"), text).unwrap();
        let mut command = Command::new(HAIRSTREAK);
        command.args(["serve", "--bind", "tcp://127.0.0.1:*", "--data-dir", "none", "--config"]);
        command.arg(folder.join("node.toml")).args(options).envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Node { child, folder, stdout, stderr }
    }

    /// The endpoint of a part of the node, from the next line about this part.
    fn place(&mut self, part: &str) -> String {
        loop {
            let line = read_line(&mut self.stdout);
            assert!(!line.is_empty(), "no line about {part}");
            if let Some(place) = line.strip_prefix(part).and_then(|rest| rest.strip_prefix(" at tcp://")) {
                return place.to_owned();
            }
        }
    }

    fn logged(&mut self) -> String {
        message(&self.line()).to_owned()
    }

    /// The next line that is not about a connection.
    fn line(&mut self) -> String {
        loop {
            let line = read_line(&mut self.stderr);
            if !line.contains(" connection=") {
                return line;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Changes the configuration and makes the node read it. Returns the line about the reload.
    fn reload(&mut self, text: &str) -> String {
        std::fs::write(self.folder.join("node.toml"), text).unwrap();
        self.signal(Signal::HUP);
        self.logged()
    }

    /// Ends the node in order.
    fn stop(mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.child.end().code(), Some(0));
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The node has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn read_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Leaves one message in a queue, which the node reports at its end.
fn leave_a_message(place: &str) {
    for words in ["declare queue q", "publish -k q hello"] {
        let mut command = Command::new(HAIRSTREAK);
        let output = command.args(words.split(' ')).env("AMQP_URL", format!("amqp://{place}")).run_to_end();
        assert!(output.status.success(), "{words}: {output:?}");
    }
}

/// The output of the command after a handshake with the node.
fn shake_hands(place: &str) -> Result<(), String> {
    let port = place.rsplit(':').next().unwrap();
    let mut command = Command::new(HAIRSTREAK);
    command.args(["declare", "queue", "--exclusive", "--ca"]).arg(certificate("ca.pem"));
    command.args(["--url", &format!("amqps://localhost:{port}")]);
    let output = command.run_to_end();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8(output.stderr).unwrap()) }
}

fn with_tls(certificate_file: &str, more: &str) -> String {
    format!(
        "[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n[amqp.tls]\nbind = [\"tcp://127.0.0.1:*\"]\n\
         certificate = {:?}\nkey = {:?}\n{more}",
        certificate(certificate_file),
        certificate("server.key")
    )
}

const PLAIN: &str = "[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n";

#[test]
fn a_line_is_text_or_json_by_an_option_or_the_configuration() {
    let json = format!("{PLAIN}[log]\nformat = \"json\"\n");
    for (name, text, options) in
        [("option", PLAIN, &["--log-format", "json"][..]), ("configuration", &json, &[])]
    {
        let mut node = Node::start(name, text, options, &[]);
        leave_a_message(&node.place("amqp"));
        node.signal(Signal::TERM);
        let mut lines = (&mut node.stderr).lines().map(Result::unwrap);
        let gone = lines.find(|line| line.contains("gone")).unwrap();
        let object: Value = serde_json::from_str(&gone).unwrap();
        let known = (&object["level"], &object["msg"], &object["count"]);
        let expected = ("warning".into(), "messages that were in queues are gone".into(), 1.into());
        assert_eq!(known, (&expected.0, &expected.1, &expected.2), "{gone}");
        assert!(object["time"].as_str().unwrap().ends_with("+00:00"), "{gone}");
    }
    // An option overrides the configuration.
    let mut node = Node::start("both", &json, &["--log-format", "text"], &[]);
    leave_a_message(&node.place("amqp"));
    node.signal(Signal::TERM);
    let mut lines = (&mut node.stderr).lines().map(Result::unwrap);
    let gone = lines.find(|line| line.contains("gone")).unwrap();
    assert!(message(&gone).starts_with("[warning] messages"), "{gone}");
}

#[test]
fn lines_below_the_level_are_not_written() {
    for level in ["none", "error"] {
        let mut node = Node::start(&format!("level-{level}"), PLAIN, &["--log-level", level], &[]);
        leave_a_message(&node.place("amqp"));
        node.signal(Signal::TERM);
        let lines: Vec<String> = (&mut node.stderr).lines().map(Result::unwrap).collect();
        assert_eq!(lines, [""; 0]);
    }
    let mut node = Node::start("level-wrong", PLAIN, &["--log-level", "loud"], &[]);
    let line = read_line(&mut node.stderr);
    assert!(line.contains("loud is none of debug, info, warning, error, none"), "{line}");
    assert_eq!(node.child.end().code(), Some(2));
}

#[test]
fn refused_logins_and_changes_of_operators_are_logged_whatever_the_protocol() {
    let text = "[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n[http]\nbind = [\"tcp://127.0.0.1:*\"]\n";
    let mut node = Node::start("logins", text, &["--services", "tcp://127.0.0.1:*"], &[]);
    let services = node.place("services");
    let http = loop {
        let line = read_line(&mut node.stdout);
        assert!(!line.is_empty(), "no line about http");
        if let Some(address) = line.strip_prefix("http at http://") {
            break address.to_owned();
        }
    };
    let ask = |request: &str, credentials: &str| {
        let mut stream = TcpStream::connect(&http).unwrap();
        let head = format!("{request} HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {credentials}\r\n");
        stream
            .write_all(
                format!("{head}Content-Length: 28\r\n\r\n{{\"password\":\"xyz\",\"tags\":\"\"}}").as_bytes(),
            )
            .unwrap();
        read_line(&mut BufReader::new(stream))
    };
    let check = |node: &mut Node, beginning: &str, end: &str| {
        let line = node.logged();
        assert!(line.starts_with(beginning) && line.ends_with(end), "{line}");
        assert!(line.contains("peer=127.0.0.1:") && !line.contains("xyz"), "{line}");
    };
    // guest:xyz, then a name with a line feed in it.
    assert_eq!(ask("GET /api/overview", "Z3Vlc3Q6eHl6"), "HTTP/1.1 401 Unauthorized");
    check(&mut node, "[warning] a login was refused: user 'guest' - invalid credentials ", "HTTP Basic\"");
    assert_eq!(ask("GET /api/overview", "YQpiOnh5eg=="), "HTTP/1.1 401 Unauthorized");
    check(&mut node, "[warning] a login was refused: user 'a\\nb' - invalid credentials ", "HTTP Basic\"");
    let guest = "Z3Vlc3Q6Z3Vlc3Q=";
    assert_eq!(ask("PUT /api/users/shop%2F", guest), "HTTP/1.1 201 Created");
    check(&mut node, "[info] an operator's change: PUT /api/users/shop%2F ", "");
    assert_eq!(ask("GET /api/users/shop%2F", guest), "HTTP/1.1 200 OK");
    assert_eq!(ask("DELETE /api/users/nobody", guest), "HTTP/1.1 404 Not Found");
    assert_eq!(ask("DELETE /api/users/shop%2F", guest), "HTTP/1.1 204 No Content");
    check(&mut node, "[info] an operator's change: DELETE /api/users/shop%2F ", "");
    let mut command = Command::new(HAIRSTREAK);
    command.args(["services", "--user", "shop", "--broker", &format!("tcp://{services}")]);
    let output = command.env("HAIRSTREAK_PASSWORD", "xyz").run_to_end();
    assert!(!output.status.success());
    check(&mut node, "[warning] a login was refused: user 'shop' - invalid credentials ", "ZMTP PLAIN\"");
    node.stop();
}

#[test]
fn certificates_and_the_log_change_when_the_configuration_is_read_anew() {
    let mut node = Node::start("reload", &with_tls("expired.pem", ""), &[], &[]);
    let place = node.place("amqp with tls");
    assert!(shake_hands(&place).unwrap_err().contains("expired"));
    let line = node.reload(&with_tls("missing.pem", ""));
    assert!(line.starts_with("[error] the configuration stays as it was reason="), "{line}");
    assert!(line.contains("missing.pem"), "{line}");
    let line = node.reload("[amqp]\nnonsense = 1\n");
    assert!(line.contains("node.toml:2: unknown field"), "{line}");
    assert!(shake_hands(&place).unwrap_err().contains("expired"));
    let line = node.reload(&with_tls("server.pem", ""));
    assert!(line.starts_with("[info] the configuration was read again"), "{line}");
    shake_hands(&place).unwrap();
    std::fs::write(node.folder.join("node.toml"), with_tls("server.pem", "[log]\nformat = \"json\"\n"))
        .unwrap();
    node.signal(Signal::HUP);
    let line = node.line();
    let object: Value = serde_json::from_str(&line).unwrap();
    assert!(object["msg"].as_str().unwrap().starts_with("the configuration was read again"), "{line}");
    node.stop();
}

/// A supervisor: the name of its socket for the environment, and its next message.
fn supervise(name: &str) -> (String, impl Fn() -> String) {
    let name = format!("hairstreak-log-{name}-{}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    let heard = move || {
        let mut room = [0; 200];
        let size = socket.recv(&mut room).unwrap();
        String::from_utf8(room[..size].to_vec()).unwrap()
    };
    (format!("@{name}"), heard)
}

#[test]
fn a_supervisor_hears_when_the_node_is_ready_reloads_and_stops() {
    let (name, heard) = supervise("states");
    let mut node = Node::start("systemd", PLAIN, &[], &[("NOTIFY_SOCKET", &name)]);
    assert_eq!(heard(), "READY=1\nSTATUS=running");
    // At this time all listeners are open.
    leave_a_message(&node.place("amqp"));
    node.signal(Signal::HUP);
    assert!(heard().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(heard(), "READY=1\nSTATUS=running");
    node.signal(Signal::TERM);
    assert_eq!(heard(), "STOPPING=1\nSTATUS=stopping");
    drop(node);
    let mut node = Node::start("nobody", PLAIN, &[], &[("NOTIFY_SOCKET", "/no/such/socket")]);
    let line = read_line(&mut node.stderr);
    assert_eq!(line, "hairstreak: NOTIFY_SOCKET=/no/such/socket: No such file or directory (os error 2)");
}

#[test]
fn a_node_whose_log_nobody_reads_goes_on() {
    let (name, heard) = supervise("unread");
    let mut node = Node::start("unread", PLAIN, &[], &[("NOTIFY_SOCKET", &name)]);
    let place = node.place("amqp");
    heard();
    // A line of more than 65 bytes each time, and so more than a pipe takes.
    for _ in 0..1_000 {
        node.signal(Signal::HUP);
        heard();
        heard();
    }
    leave_a_message(&place);
    node.signal(Signal::TERM);
    assert_eq!(node.child.end().code(), Some(0));
}
