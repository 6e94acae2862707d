//! What is typed into a window may be any bytes, and a window may be closed or full.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use hairstreak::{Component, Scope};
use hairstreak_testkit::BoundedCommand;

use crate::host::Host;
use crate::stage::{COMPONENT1, COMPONENT2, INTERMEDIATE, Program, RECEIVE_REPLIES, SEND_REQUESTS, serve};

const PATIENCE: Duration = Duration::from_secs(60);

/// A pipe that nobody reads any more.
fn closed() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// Ended when the test is, whatever becomes of that.
struct Blind(Child);

impl Drop for Blind {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ended(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr.clone()).unwrap())
}

#[test]
fn any_key_starts_a_run() {
    let (_node, port) = serve(&Host::Own, "0");
    let directory = format!("127.0.0.1:{port}");
    let mut send_requests = Program::start(&Host::Own, SEND_REQUESTS, &[&directory, "1"]);
    send_requests.expect("Hit ENTER to start!");
    send_requests.type_bytes(b"x\xff\n");
    send_requests.expect("Running...");
}

#[test]
fn arguments_that_are_no_text_get_the_usage_line() {
    for program in [SEND_REQUESTS, INTERMEDIATE, RECEIVE_REPLIES, COMPONENT1, COMPONENT2] {
        let output = Command::new(program).arg(OsStr::from_bytes(b"SVR\xff")).arg("1").run_to_end();
        let (status, text) = ended(&output);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.starts_with("usage: ") && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn who_has_a_result_to_show_ends_without_a_window() {
    let (_node, port) = serve(&Host::Own, "0");
    let directory = format!("127.0.0.1:{port}");
    let start = |window: Stdio| {
        Command::new(SEND_REQUESTS)
            .args([&directory, "1"])
            .stdin(Stdio::null())
            .stdout(window)
            .output()
            .unwrap()
    };
    assert_eq!(ended(&start(closed())), (Some(0), String::new()));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let line = "send_requests: cannot write to standard output: No space left on device (os error 28)\n";
    assert_eq!(ended(&start(full.into())), (Some(1), line.to_owned()));
}

#[test]
fn who_only_says_that_it_is_ready_works_without_a_window() {
    let (_node, port) = serve(&Host::Own, "0");
    let directory = format!("127.0.0.1:{port}");
    let component = Component::builder().directory(&directory).build().unwrap();
    let sync = component.queue("SYNC_IN").scope(Scope::Global).interface("lo").open().unwrap();
    let replies = component.exchange("REPLIES").open().unwrap();
    let mut command = Command::new(RECEIVE_REPLIES);
    let _receive_replies =
        Blind(command.args([&directory, "lo", "2"]).stdout(closed()).stderr(closed()).spawn().unwrap());
    component.bind("REPLIES", "RECEIVE_REPLIES_IN").unwrap();
    assert!(replies.wait_for_queues(1, PATIENCE));
    for _ in 0..2 {
        replies.send(b"reply").unwrap();
    }
    assert_eq!(sync.recv_timeout(PATIENCE).unwrap().body(), b"!");
}
