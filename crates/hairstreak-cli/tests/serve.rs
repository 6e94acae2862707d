//! `hairstreak serve`, as it is started and ended by hand.

#[path = "workbench/daemon.rs"]
#[allow(dead_code, reason = "shared with the tests of services, which look at its memory")]
mod daemon;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use hairstreak::{Component, Scope};
use hairstreak_testkit::{BoundedChild, BoundedCommand, until};
use rustix::process::Signal;

use daemon::{Daemon, End};

fn start(arguments: &[&str]) -> Daemon {
    Daemon::start("serve", arguments)
}

#[test]
fn it_says_where_it_is_and_reports_names_and_ends_well_on_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut serving = start(&["--bind", "tcp://127.0.0.1:*", "-v"]);
        let endpoint = serving.place("directory");
        let node =
            Component::builder().directory(&endpoint).patience(Duration::from_secs(20)).build().unwrap();
        let queue = node.queue("Q").scope(Scope::Global).interface("127.0.0.1:*").open().unwrap();
        let expected = format!("[info] registered Q at {}", queue.endpoint().unwrap());
        assert_eq!(serving.logged(), expected);
        drop(queue);
        assert_eq!(serving.logged(), "[info] unregistered Q");
        let output = "open to this host only
Server startup complete
"
        .to_owned();
        let expected = End { status: Some(0), output, errors: String::new() };
        assert_eq!(serving.end_by(signal), expected);
    }
}

#[test]
fn it_listens_on_every_endpoint_it_is_given() {
    let mut serving = start(&["--bind", "tcp://127.0.0.1:*", "--bind", "tcp://lo:*"]);
    for endpoint in [serving.place("directory"), serving.place("directory")] {
        let node =
            Component::builder().directory(&endpoint).patience(Duration::from_secs(20)).build().unwrap();
        node.queue(&endpoint).scope(Scope::Global).open().unwrap();
    }
    assert_eq!(serving.end_by(Signal::TERM).status, Some(0));
}

#[test]
fn a_port_in_use_is_one_clear_line() {
    let mut first = start(&["--port", "0"]);
    let endpoint = first.place("directory");
    let port = endpoint.strip_prefix("tcp://127.0.0.1:").unwrap();
    let End { status, errors, .. } = start(&["--port", port]).end();
    assert_eq!(status, Some(1));
    assert_eq!(errors, format!("hairstreak: cannot bind {endpoint}: it is in use\n"));
    assert_eq!(first.end_by(Signal::TERM).status, Some(0));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for arguments in [&["--port", "65536"][..], &["--lease", "0s"], &["--port", "1", "--bind", "ipc://x"]] {
        let End { status, errors, .. } = start(arguments).end();
        assert_eq!(status, Some(2), "{errors}");
    }
    let End { status, errors, .. } = start(&["--bind", "tcp://127.0.0.1:*", "--bind", "inproc://x"]).end();
    let reason = "nobody outside this process could reach it there, use tcp:// or ipc://";
    assert_eq!((status, errors), (Some(2), format!("hairstreak: --bind inproc://x: {reason}\n")));
    let End { status, errors, .. } = start(&["--bind", "nonsense"]).end();
    assert_eq!((status, errors.lines().count()), (Some(2), 1), "{errors}");
}

#[test]
fn nothing_listens_beyond_this_host_unless_it_is_told_to() {
    let namespace = format!("hairstreak-serve-{}", std::process::id());
    let ip = |arguments: &[&str]| Command::new("ip").args(arguments).status().unwrap();
    assert!(ip(&["netns", "add", &namespace]).success(), "network namespaces need root");
    ip(&["-n", &namespace, "link", "set", "lo", "up"]);
    let mut serving = Command::new("ip")
        .args(["netns", "exec", &namespace, env!("CARGO_BIN_EXE_hairstreak"), "serve", "--data-dir", "none"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines().map(Result::unwrap);
    let places: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("open to")).collect();
    let sockets = ["tcp", "tcp6", "udp", "udp6"].map(|table| {
        let table = std::fs::read_to_string(format!("/proc/{}/net/{table}", serving.id())).unwrap();
        // The second field is the local address, the third the remote address, which is zero for a listener.
        let listens = |line: &&str| line.split_whitespace().nth(2).is_some_and(|to| to.ends_with(":0000"));
        let local = |line: &str| line.split_whitespace().nth(1).unwrap().to_owned();
        table.lines().skip(1).filter(listens).map(local).collect::<Vec<_>>()
    });
    serving.kill().unwrap();
    serving.end();
    ip(&["netns", "del", &namespace]);
    assert_eq!(
        places,
        [
            "directory at tcp://127.0.0.1:5682",
            "services at tcp://127.0.0.1:5555",
            "amqp at tcp://127.0.0.1:5672",
            "http at http://127.0.0.1:15672",
            "metrics at http://127.0.0.1:15692/metrics"
        ]
    );
    assert_eq!(sockets[0].len(), places.len(), "{sockets:?}");
    assert!(sockets[0].iter().all(|socket| socket.starts_with("0100007F:")), "{sockets:?}");
    assert!(sockets[1..].iter().all(Vec::is_empty), "{sockets:?}");
}

#[test]
fn it_says_at_its_end_how_many_messages_are_gone() {
    let path = std::env::temp_dir().join(format!("hairstreak-serve-gone-{}.toml", std::process::id()));
    std::fs::write(&path, "[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n").unwrap();
    let words = ["--bind", "tcp://127.0.0.1:*", "--data-dir", "none", "--log-level", "warning", "--config"];
    let mut serving = start(&[&words[..], &[path.to_str().unwrap()]].concat());
    serving.place("directory");
    let url = serving.place("amqp").replace("tcp://", "amqp://");
    for words in [
        "declare queue kept --durable",
        "declare queue brief",
        "publish -k kept --persistent --count 3 body",
        "publish -k kept body",
        "publish -k brief --persistent body",
        "consume kept --count 1",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
        let output = command.args(words.split(' ')).env("AMQP_URL", &url).run_to_end();
        assert!(output.status.success(), "{words}: {output:?}");
    }
    let End { status, errors, .. } = serving.end_by(Signal::TERM);
    let gone = "[warning] messages that were in queues are gone count=4 persistent_in_durable_queues=2\n";
    assert_eq!((status, daemon::message(&errors)), (Some(0), gone));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_configuration_that_makes_no_sense_is_one_line_with_its_place() {
    let directory = std::env::temp_dir().join(format!("hairstreak-serve-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("node.toml");
    for (text, reason) in
        [("[amqp]\nbind = 5672\n", ":2: invalid type"), ("[amqp]\nport = 1\n", ":2: unknown field `port`")]
    {
        std::fs::write(&path, text).unwrap();
        let End { status, errors, .. } = start(&["--config", path.to_str().unwrap()]).end();
        assert_eq!((status, errors.lines().count()), (Some(2), 1), "{errors}");
        assert!(errors.starts_with(&format!("hairstreak: {}{reason}", path.display())), "{errors}");
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn each_listener_can_be_the_only_one() {
    let folder = std::env::temp_dir().join(format!("hairstreak-serve-only-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let certificates =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../hairstreak-transport/tests/streams/certificates");
    let file = folder.join("node.toml");
    let start_with = |on: &str, more: &[&str]| {
        let bind = |part: &str, port: &str| match on == part {
            true => format!("bind = [\"tcp://127.0.0.1:{port}\"]"),
            false => "bind = []".to_owned(),
        };
        let secured = |part: &str| {
            let files =
                format!("certificate = \"{certificates}/server.pem\"\nkey = \"{certificates}/server.key\"");
            format!("{}\n{files}", bind(part, "*"))
        };
        let text = [
            format!("[amqp]\n{}", bind("amqp", "*")),
            format!("[amqp.tls]\n{}", secured("amqp with tls")),
            format!("[http]\n{}", bind("http", "*")),
            format!("[http.tls]\n{}", secured("http with tls")),
            format!("[metrics]\n{}", bind("metrics", "*")),
        ];
        std::fs::write(&file, text.join("\n")).unwrap();
        let words = ["--data-dir", "none", "--config", file.to_str().unwrap()];
        start(&[&words[..], more].concat())
    };
    let routers = ["--no-directory", "--no-services"];
    for (part, more) in [
        ("amqp", &routers[..]),
        ("amqp with tls", &routers),
        ("http", &routers),
        ("http with tls", &routers),
        ("metrics", &routers),
        ("services", &["--no-directory", "--services", "tcp://127.0.0.1:*"]),
        ("directory", &["--no-services", "--bind", "tcp://127.0.0.1:*"]),
    ] {
        let mut serving = start_with(part, more);
        serving.place(part);
        assert_eq!(serving.line(), "open to this host only", "{part}");
        assert_eq!(serving.end_by(Signal::TERM).status, Some(0), "{part}");
    }
    let End { status, output, errors } = start_with("nothing", &routers).end();
    let reason = "hairstreak: there is nothing to serve: every listener is switched off\n";
    assert_eq!((status, &*output, &*errors), (Some(2), "", reason));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_node_without_amqp_has_the_data_directory_that_it_is_given() {
    let directory = std::env::temp_dir().join(format!("hairstreak-serve-data-{}", std::process::id()));
    for _ in 0..2 {
        let data = directory.to_str().unwrap();
        let mut serving = start(&["--bind", "tcp://127.0.0.1:*", "--no-amqp", "--data-dir", data]);
        serving.place("directory");
        let End { status, .. } = serving.end_by(Signal::TERM);
        assert_eq!(status, Some(0));
        assert!(directory.join("curve.key").exists() && directory.join("definitions.redb").exists());
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn users_and_limits_are_read_again_on_sighup() {
    let path = std::env::temp_dir().join(format!("hairstreak-serve-reload-{}.toml", std::process::id()));
    // RabbitMQ's hashes of test12 and of other.
    let hashes = [
        "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR",
        "AQIDBPDDMmqGUjB9+1oUQzp0YtQ414UxrXs/ZrctR5MvFBR4",
    ];
    let write_for = |name: &str, hash: &str, rest: &str| {
        let user = format!("[[users]]\nname = \"{name}\"\npassword_hash = \"{hash}\"\n");
        std::fs::write(&path, format!("[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n{rest}\n{user}")).unwrap();
    };
    let write = |hash: &str, rest: &str| write_for("shop", hash, rest);
    write(hashes[0], "");
    let words = ["--bind", "tcp://127.0.0.1:*", "--data-dir", "none", "--config", path.to_str().unwrap()];
    let mut serving = start(&words);
    serving.place("directory");
    let place = serving.place("amqp").replace("tcp://", "");
    let may_come = |password: &str, body: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
        let url = format!("amqp://shop:{password}@{place}");
        let words = ["publish", "-x", "amq.fanout", "-k", "nowhere", body];
        command.args(words).env("AMQP_URL", url).run_to_end().status.success()
    };
    assert!(may_come("test12", "body") && !may_come("other", "body"));
    let hang_up = |pid| {
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::HUP).unwrap()
    };
    let pid = serving.id() as i32;

    write(hashes[1], "message_size_max = 4");
    hang_up(pid);
    let read_again = "[info] the configuration was read again: users, limits, certificates and the log";
    assert_eq!(about_all(&mut serving), read_again);
    assert!(may_come("other", "body") && !may_come("test12", "body"));
    assert!(!may_come("other", "a body"), "larger than the new limit");

    write(hashes[1], "connections_max = 1");
    hang_up(pid);
    assert_eq!(about_all(&mut serving), read_again);
    let held = std::net::TcpStream::connect(&place).unwrap();
    until("the node takes no more connections than it may", || !may_come("other", "body"));
    drop(held);
    write(hashes[1], "");
    hang_up(pid);
    assert_eq!(about_all(&mut serving), read_again);
    assert!(may_come("other", "body"));

    write("no hash", "");
    hang_up(pid);
    let line = about_all(&mut serving);
    assert!(line.starts_with("[error] the configuration stays as it was reason="), "{line}");
    assert!(line.contains(":6: "), "{line}");
    assert!(may_come("other", "body"));

    write_for("another", hashes[1], "");
    hang_up(pid);
    let gone = "[info] a user has gone from the configuration, and is deleted user=shop";
    assert_eq!([about_all(&mut serving), about_all(&mut serving)], [gone, read_again]);
    assert!(!may_come("other", "body"), "the user has gone from the file");

    let End { status, .. } = serving.end_by(Signal::TERM);
    assert_eq!(status, Some(0));
    std::fs::remove_file(path).unwrap();
}

/// The next line of the log that is neither about a connection nor about a login.
fn about_all(serving: &mut Daemon) -> String {
    loop {
        let line = serving.logged();
        if !line.contains(" connection=") && !line.contains("a login was refused") {
            return line;
        }
    }
}
