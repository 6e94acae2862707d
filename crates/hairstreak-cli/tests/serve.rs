//! `hairstreak serve`, as it is started and ended by hand.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

use hairstreak::{Node, Scope};
use rustix::process::{Pid, Signal, kill_process};

struct Serving {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Serving {
    fn start(arguments: &[&str]) -> Serving {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hairstreak"))
            .arg("serve")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Serving { child, stdout, stderr }
    }

    /// The endpoint that the next line names.
    fn endpoint(&mut self) -> String {
        let line = read_line(&mut self.stdout);
        line.strip_prefix("directory at ").unwrap_or_else(|| panic!("{line:?}")).to_owned()
    }

    /// Sends a signal; the status and what was still written to standard error.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.wait()
    }

    fn wait(&mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn it_says_where_it_is_and_reports_names_and_ends_well_on_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut serving = Serving::start(&["--bind", "tcp://127.0.0.1:*", "-v"]);
        let endpoint = serving.endpoint();
        let node = Node::builder().directory(&endpoint).patience(Duration::from_secs(20)).build().unwrap();
        let queue = node.queue("Q").scope(Scope::Global).interface("127.0.0.1:*").open().unwrap();
        let expected = format!("registered Q at {}", queue.endpoint().unwrap());
        assert_eq!(read_line(&mut serving.stderr), expected);
        drop(queue);
        assert_eq!(read_line(&mut serving.stderr), "unregistered Q");
        assert_eq!(serving.end(signal), (Some(0), String::new()));
    }
}

#[test]
fn it_listens_on_every_endpoint_it_is_given() {
    let mut serving = Serving::start(&["--bind", "tcp://127.0.0.1:*", "--bind", "tcp://lo:*"]);
    for endpoint in [serving.endpoint(), serving.endpoint()] {
        let node = Node::builder().directory(&endpoint).patience(Duration::from_secs(20)).build().unwrap();
        node.queue(&endpoint).scope(Scope::Global).open().unwrap();
    }
    assert_eq!(serving.end(Signal::TERM).0, Some(0));
}

#[test]
fn a_port_in_use_is_one_clear_line() {
    let mut first = Serving::start(&["--port", "0"]);
    let endpoint = first.endpoint();
    let port = endpoint.strip_prefix("tcp://*:").unwrap();
    let (status, text) = Serving::start(&["--port", port]).wait();
    assert_eq!(status, Some(1));
    assert_eq!(text, format!("hairstreak: cannot bind {endpoint}: it is in use\n"));
    assert_eq!(first.end(Signal::TERM).0, Some(0));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for arguments in [&["--port", "65536"][..], &["--lease", "0s"], &["--port", "1", "--bind", "ipc://x"]] {
        let (status, text) = Serving::start(arguments).wait();
        assert_eq!(status, Some(2), "{text}");
    }
    let (status, text) = Serving::start(&["--bind", "tcp://127.0.0.1:*", "--bind", "inproc://x"]).wait();
    let reason = "nobody outside this process could reach the directory there, use tcp:// or ipc://";
    assert_eq!((status, text), (Some(2), format!("hairstreak: --bind inproc://x: {reason}\n")));
    let (status, text) = Serving::start(&["--bind", "nonsense"]).wait();
    assert_eq!((status, text.lines().count()), (Some(1), 1), "{text}");
}
