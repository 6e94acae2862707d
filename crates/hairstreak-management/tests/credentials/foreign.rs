//! pyzmq, which knows nothing of us but Majordomo: a worker, a client and the directory's REQ, by password and by key.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::node::{Mechanism, Served, password_of};

/// Longer than a reply takes.
const LONG_MS: &str = "60000";

/// How long a reply is waited for that does not come.
const VAIN_MS: &str = "700";

/// A script in one of its roles; killed when it is dropped.
struct Script(Child, BufReader<std::process::ChildStdout>);

impl Script {
    /// `credentials.py ROLE ENDPOINT ARGUMENTS... CREDENTIALS...`
    fn start(served: &Served, user: &str, mechanism: Mechanism, words: &[&str]) -> Script {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = folder.join("../../.venv/bin/python");
        assert!(python.exists(), "{} is missing; scripts/test-setup makes it", python.display());
        let mut command = Command::new(python);
        command.arg(folder.join("tests/credentials/credentials.py")).args(words);
        match mechanism {
            Mechanism::Plain => command.args(["plain", user, &password_of(user)]),
            Mechanism::Curve => {
                let keys = served.keys_of(user);
                let server = served.node_keys.public().to_string();
                let (public, secret) = (keys.public().to_string(), keys.secret().to_z85().to_string());
                command.args(["curve", &server, &public, &secret])
            }
        };
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Script(child, lines)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It may be gone by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn foreign_peers_call_and_serve_by_their_users_permissions() {
    let served = Served::start(true);
    let place = served.services();
    for mechanism in [Mechanism::Plain, Mechanism::Curve] {
        for version in ["0.1", "0.2"] {
            let mut worker = Script::start(&served, "reads", mechanism, &["worker", &place, version, "echo"]);
            assert_eq!(worker.line(), "ready");
            let call = |user: &str, service: &str, patience_ms: &str| {
                let words = ["client", &place, version, service, patience_ms];
                Script::start(&served, user, mechanism, &words).line()
            };
            assert_eq!(call("writes", "echo", LONG_MS), "HELLO", "{mechanism:?} {version}");
            // Plain MDP has no words for a refusal: there is no reply.
            assert_eq!(call("reads", "echo", VAIN_MS), "nothing", "{mechanism:?} {version}");
            // The one goes, and whoever may not serve is told to go.
            drop(worker);
            let mut refused =
                Script::start(&served, "writes", mechanism, &["worker", &place, version, "echo"]);
            assert_eq!(refused.line(), "ready");
            assert_eq!(refused.line(), "told to go");
            // MMI shows what a user has some permission for.
            assert_eq!(call("elsewhere", "mmi.service", LONG_MS), "404");
        }
    }
}

#[test]
fn foreign_programs_use_the_directory_by_their_users_permissions() {
    let served = Served::start(true);
    let place = served.directory();
    for mechanism in [Mechanism::Plain, Mechanism::Curve] {
        let ask = |user: &str, verb: &str| {
            Script::start(&served, user, mechanism, &["directory", &place, verb, "echo", LONG_MS]).line()
        };
        assert_eq!(ask("reads", "REGISTER"), "ERROR access_refused", "{mechanism:?}");
        assert_eq!(ask("configures", "REGISTER"), "OK", "{mechanism:?}");
        assert_eq!(ask("reads", "LOOKUP"), "FOUND tcp://10.0.0.1:7", "{mechanism:?}");
        assert_eq!(ask("elsewhere", "LOOKUP"), "ERROR access_refused", "{mechanism:?}");
        assert_eq!(ask("reads", "LIST"), "LIST echo", "{mechanism:?}");
        assert_eq!(ask("elsewhere", "LIST"), "LIST", "{mechanism:?}");
        assert_eq!(ask("configures", "UNREGISTER"), "OK", "{mechanism:?}");
    }
}

#[test]
fn foreign_programs_hear_400() {
    let served = Served::start(true);
    for place in [served.services(), served.directory()] {
        // libzmq's client takes a right ERROR of PLAIN for a breach of protocol, and tells nothing of one of NULL.
        let mut by_key = Script::start(&served, "reads", Mechanism::Curve, &["stranger", &place]);
        assert_eq!(by_key.line(), "refused 400");
    }
}
