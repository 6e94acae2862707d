//! Passwords that are typed on a terminal.

use std::process::Command;

use hairstreak_testkit::BoundedCommand;

use crate::broker::{Broker, tests_of_each_broker};
use crate::process::{HAIRSTREAK, unique};

tests_of_each_broker! {
    a_password_is_asked_for_without_echo,
    a_new_password_is_asked_for_twice,
    an_interrupt_ends_the_question,
}

/// Types an answer after each question, which ends with a colon. Prints the output of the terminal and the status.
const TYPIST: &str = r#"
import os, pty, sys
answers, command = sys.argv[1].encode().decode("unicode_escape").split("|"), sys.argv[2:]
process, terminal = pty.fork()
if process == 0:
    os.execv(command[0], command)
shown = b""
def read():
    try:
        return os.read(terminal, 1024)
    except OSError:
        return b""
for answer in answers:
    asked = b""
    while not asked.endswith(b": "):
        part = read()
        if not part:
            break
        asked += part
    shown += asked
    os.write(terminal, answer.encode())
while part := read():
    shown += part
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"#;

/// Runs a command on a terminal. Returns its status and the output of the terminal.
fn typed(broker: &Broker, answers: &str, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "120", "python3", "-c", TYPIST, answers, HAIRSTREAK]).args(words);
    command
        .env("HAIRSTREAK_HTTP_URL", format!("http://{}", broker.http))
        .env_remove("HAIRSTREAK_HTTP_PASSWORD");
    let output = broker.in_company(false, || command.run_to_end());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn a_password_is_asked_for_without_echo(broker: &Broker) {
    let words = ["users", "--user", "guest", "--columns", "name", "--filter", "^guest$"];
    // Backspace takes one character away, Ctrl-U the whole line.
    let (status, shown) = typed(broker, "nonsense\\x15guesx\\x7ft\\n", &words);
    let expected =
        format!("password of user 'guest' at {}: \nname\nguest\n1 user matching '^guest$'\n", broker.http);
    assert_eq!((status, shown), (Some(0), expected));
    let (status, shown) = typed(broker, "wrong\\n", &words);
    assert_eq!(status, Some(1));
    assert!(shown.contains("refuses user 'guest'") && !shown.contains("wrong"), "{shown}");
}

fn a_new_password_is_asked_for_twice(broker: &Broker) {
    let user = unique("typed");
    let (status, shown) = typed(broker, "one\\n|two\\n", &["users", "add", &user]);
    let question = format!("new password of user '{user}': \nthe same again: \n");
    assert_eq!((status, shown), (Some(1), format!("{question}hairstreak: the two passwords differ\n")));
    assert_eq!(broker.bad(&["users", "delete", &user], 1), format!("there is no user '{user}'"));
    let (status, shown) = typed(broker, "one\\n|one\\n", &["users", "add", &user]);
    assert_eq!((status, shown), (Some(0), format!("{question}user '{user}' added\n")));
    broker.good(&["users", "delete", &user]);
}

fn an_interrupt_ends_the_question(broker: &Broker) {
    let (status, shown) = typed(broker, "gue\\x03", &["queues", "--user", "guest"]);
    assert_eq!(status, Some(130));
    assert!(shown.ends_with(": \nhairstreak: stopped while a password was asked for\n"), "{shown}");
}
