//! `Broker`: a broker with a management API, and the program run against it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock};

use hairstreak_testkit::{BoundedCommand, until};
use serde_json::Value;

use crate::process::{HAIRSTREAK, Outcome, end};

/// Defines each test once for each broker.
///
/// A test is a function of a `&Broker`. The node joins RabbitMQ here with a module of its own.
macro_rules! tests_of_each_broker {
    ($($name:ident,)+) => {
        mod rabbitmq {
            $(
                #[test]
                fn $name() {
                    super::$name(crate::setup::rabbitmq());
                }
            )+
        }
    };
}
pub(crate) use tests_of_each_broker;

/// The largest number of retries of a command whose GET is answered with 500.
const RETRIES_MAX: usize = 4;

/// A broker.
pub struct Broker {
    /// Hosts and ports.
    pub http: String,
    pub https: String,
    pub amqp: String,
    /// The shell's environment for rabbitmqctl, if rabbitmqctl can drive the broker.
    pub environment: Option<PathBuf>,
    /// Held for writing by commands that delete, for reading by all others.
    pub company: RwLock<()>,
}

impl Broker {
    /// `hairstreak WORDS...` with pipes for its standard streams and without a terminal, killed after two minutes.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        command.args(["--wait", "timeout", "--signal=KILL", "120", HAIRSTREAK]).args(words);
        command.env("AMQP_URL", format!("amqp://{}", self.amqp));
        command
            .env("HAIRSTREAK_HTTP_URL", format!("http://{}", self.http))
            .env_remove("HAIRSTREAK_HTTP_PASSWORD");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The same process without a time limit, for tests that end it.
    pub fn spawn(&self, words: &[&str]) -> Child {
        let mut command = Command::new(HAIRSTREAK);
        command.args(words).env("AMQP_URL", format!("amqp://{}", self.amqp));
        command.env("HAIRSTREAK_HTTP_URL", format!("http://{}", self.http));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs the program on this input.
    pub fn run(&self, words: &[&str], input: impl AsRef<[u8]>) -> Outcome {
        self.end(&mut self.command(words), words, input)
    }

    /// Runs the command of these words on that input. RabbitMQ may answer a list with 500 while an object of the list is deleted:
    /// the command runs again.
    pub fn end(&self, command: &mut Command, words: &[&str], input: impl AsRef<[u8]>) -> Outcome {
        let deletes = words.contains(&"delete");
        let mut run = || self.in_company(deletes, || end(command.spawn().unwrap(), input.as_ref()));
        let is_500 = |outcome: &Outcome| {
            ["answered GET", "with status 500 and no JSON"].iter().all(|words| outcome.stderr.contains(words))
        };
        let mut outcome = run();
        let mut retries = 0;
        // RabbitMQ alone has an environment for rabbitmqctl. No other broker may fail.
        while self.environment.is_some() && is_500(&outcome) && retries < RETRIES_MAX {
            retries += 1;
            outcome = run();
        }
        if retries > 0 {
            // A retry is not a failure, but is printed: a successful test prints nothing else.
            let line = format!("RabbitMQ: {retries} retries of {}\n", words.join(" "));
            io::stderr().write_all(line.as_bytes()).unwrap();
        }
        outcome
    }

    /// Runs `act` alone if it deletes, else beside other commands. RabbitMQ answers a list of users with 500 while a user is deleted.
    pub fn in_company<T>(&self, deletes: bool, act: impl FnOnce() -> T) -> T {
        if deletes {
            let _alone = self.company.write().unwrap_or_else(PoisonError::into_inner);
            act()
        } else {
            let _together = self.company.read().unwrap_or_else(PoisonError::into_inner);
            act()
        }
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

    /// Runs the program with --json. Returns the objects of its output.
    #[track_caller]
    pub fn json(&self, words: &[&str]) -> Vec<Value> {
        let lines = self.good(&[words, &["--json"]].concat());
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Repeats a list until the objects of one output satisfy `is_so`.
    #[track_caller]
    pub fn await_list(&self, words: &[&str], is_so: impl Fn(&[Value]) -> bool) {
        // The broker updates its counters at intervals.
        until(&format!("the right objects of {words:?}"), || {
            let list = self.json(words);
            if is_so(&list) { Ok(()) } else { Err(list) }
        });
    }

    /// The answer of the API itself, to another client than the program.
    #[track_caller]
    pub fn api(&self, path: &str) -> Value {
        let mut command = Command::new("python3");
        command.args(["-c", ASK, &format!("http://{}/api/{path}", self.http)]);
        let output = self.in_company(false, || command.run_to_end());
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The answer of rabbitmqctl, if rabbitmqctl can drive this broker.
    #[track_caller]
    pub fn control(&self, words: &[&str]) -> Option<String> {
        let environment = self.environment.as_ref()?;
        let script = ". \"$0\"; exec /usr/lib/rabbitmq/bin/rabbitmqctl -q \"$@\"";
        let output = Command::new("bash").args(["-c", script]).arg(environment).args(words).run_to_end();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    }

    /// A virtual host of this test alone, for the user guest.
    pub fn vhost(&self) -> String {
        let name = crate::process::unique("vhost");
        self.good(&["vhosts", "add", &name]);
        name
    }

    /// The arguments with which a client of AMQP opens a virtual host.
    pub fn url(&self, user: &str, vhost: &str) -> String {
        format!("--url=amqp://{user}:{user}@{}/{}", self.amqp, vhost.replace('/', "%2F"))
    }
}

/// Prints the JSON at a URL.
const ASK: &str = r#"
import base64, sys, urllib.request
request = urllib.request.Request(sys.argv[1])
request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
sys.stdout.buffer.write(urllib.request.urlopen(request, timeout=60).read())
"#;
