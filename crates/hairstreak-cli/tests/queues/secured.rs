//! amqps://: messages pass, the broker is verified, the client shows a certificate, and each refusal is one clear line.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::daemon::Daemon;
use crate::harness::{HAIRSTREAK, Outcome, end, folder, unique};

fn certificate(name: &str) -> String {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../hairstreak-transport/tests/streams/certificates");
    folder.join(name).to_str().unwrap().to_owned()
}

/// The password `guest`.
const GUEST_HASH: &str = "c2FsdDRwMuw4kgNZhm0cEYx1m4NAR6BCdplxDdFbnDjbRIKq";

/// A node with TLS, and its ports.
struct Secured {
    _node: Daemon,
    plain: String,
    tls: String,
}

impl Secured {
    /// A node with this setting for client certificates. Paths of its files are relative to the folder of the configuration.
    fn start(asks: &str) -> Secured {
        let folder = folder("secured");
        for name in ["server.pem", "server.key", "ca.pem"] {
            std::fs::copy(certificate(name), folder.join(name)).unwrap();
        }
        let user = |name: &str| format!("[[users]]\nname = \"{name}\"\npassword_hash = \"{GUEST_HASH}\"\n");
        let users = user("guest") + &user("tester");
        let ca = if asks == "none" { "" } else { "ca = \"ca.pem\"\n" };
        let text = format!(
            "[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n[amqp.tls]\nbind = [\"tcp://127.0.0.1:*\"]\n\
             certificate = \"server.pem\"\nkey = \"server.key\"\n{ca}client_certificates = \"{asks}\"\n{users}"
        );
        let config: PathBuf = folder.join("node.toml");
        std::fs::write(&config, text).unwrap();
        let arguments =
            ["--bind", "tcp://127.0.0.1:*", "--data-dir", "none", "--config", config.to_str().unwrap()];
        let mut node = Daemon::start("serve", &arguments);
        node.place("directory");
        let port = |place: String| place.replace("tcp://127.0.0.1:", "");
        let plain = port(node.place("amqp"));
        let tls = port(node.place("amqp with tls"));
        Secured { _node: node, plain, tls }
    }

    /// An address without a user.
    fn url(&self, rest: &str) -> String {
        format!("amqps://localhost:{}/{rest}", self.tls)
    }

    fn guest(&self, rest: &str) -> String {
        format!("amqps://guest:guest@localhost:{}/{rest}", self.tls)
    }
}

fn run(url: &str, words: &[&str]) -> Outcome {
    run_on(url, words, b"", &[])
}

fn run_on(url: &str, words: &[&str], input: &[u8], variables: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "--signal=KILL", "120", HAIRSTREAK]).args(words).env("AMQP_URL", url);
    command.env_remove("SSL_CERT_FILE").envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    end(command.spawn().unwrap(), input)
}

#[test]
fn messages_pass_both_ways_and_none_is_lost() {
    let node = Secured::start("none");
    let (url, ca) = (node.url(""), certificate("ca.pem"));
    let queue = unique("secured");
    run(&url, &["declare", "queue", &queue, "--ca", &ca]).good();
    let lines: String =
        (0..20_000).map(|number| format!("{number} {}\n", "x".repeat(number % 300))).collect();
    run_on(&url, &["publish", "-k", &queue, "--lines", "--ca", &ca], lines.as_bytes(), &[]).good();
    let taken = run(&url, &["consume", &queue, "--count", "20000", "--ca", &ca]).good();
    assert!(taken == lines, "{} bytes instead of {}", taken.len(), lines.len());
    let body = "y".repeat(30 << 20);
    run_on(&url, &["publish", "-k", &queue, "--ca", &ca], body.as_bytes(), &[]).good();
    let taken = run(&url, &["consume", &queue, "--count", "1", "--ca", &ca]).good();
    assert!(taken.trim_end() == body, "{} bytes", taken.len());
}

#[test]
fn files_come_from_options_the_address_and_the_environment() {
    let node = Secured::start("required");
    let (ca, certificate_file, key) =
        (certificate("ca.pem"), certificate("client.pem"), certificate("client.key"));
    let declare = ["declare", "queue", "files"];
    let options = ["--ca", &ca, "--certificate", &certificate_file, "--certificate-key", &key];
    run(&node.guest(""), &[&declare[..], &options].concat()).good();
    let query = format!("?cacertfile={ca}&certfile={certificate_file}&keyfile={key}&verify=verify_peer");
    run(&node.guest(&query), &declare).good();
    let words = [&declare[..], &options[2..]].concat();
    run_on(&node.guest(""), &words, b"", &[("SSL_CERT_FILE", &ca)]).good();
    // The certificate names another host than the address.
    let url = format!("amqps://guest:guest@127.0.0.1:{}/?server_name_indication=localhost", node.tls);
    run(&url, &[&declare[..], &options].concat()).good();
}

#[test]
fn a_certificate_logs_in_the_user_that_it_names_where_the_address_names_none() {
    let node = Secured::start("optional");
    let (ca, own, key) = (certificate("ca.pem"), certificate("client.pem"), certificate("client.key"));
    let queue = unique("own");
    let options = ["--ca", &ca, "--certificate", &own, "--certificate-key", &key];
    run(&node.url(""), &[&["declare", "queue", &queue], &options[..]].concat()).good();
    // Only the user of the certificate may be the user of a message.
    let publish = ["publish", "-k", &queue, "--user-id", "tester", "hello"];
    run(&node.url(""), &[&publish, &options[..]].concat()).good();
    let line = run(&node.guest(""), &[&publish, &options[..]].concat()).bad(1);
    assert!(line.contains("user_id property set to 'tester' but authenticated user was 'guest'"), "{line}");
    let (stranger, stranger_key) = (certificate("names.pem"), certificate("names.key"));
    let options = ["--ca", &ca, "--certificate", &stranger, "--certificate-key", &stranger_key];
    let line = run(&node.url(""), &[&["purge", &queue], &options[..]].concat()).bad(1);
    assert!(
        line.starts_with("ACCESS_REFUSED - Login was refused using authentication mechanism EXTERNAL"),
        "{line}"
    );
}

#[test]
fn whom_one_side_does_not_trust_is_told_apart() {
    let node = Secured::start("required");
    let (ca, stranger) = (certificate("ca.pem"), certificate("stranger-ca.pem"));
    let place = format!("localhost:{}", node.tls);
    let (own, key) = (certificate("client.pem"), certificate("client.key"));
    let (expired, other_key) = (certificate("expired-client.pem"), certificate("server.key"));
    let elsewhere = node.url("?server_name_indication=elsewhere.test");
    for (url, options, status, words) in [
        (
            node.url(""),
            &["--ca", &stranger, "--certificate", &own, "--certificate-key", &key][..],
            1,
            format!(
                "no TLS with {place}: TLS handshake: none of the CA roots given here has signed the peer's certificate; give the roots"
            ),
        ),
        (
            node.url(""),
            &["--ca", &ca],
            1,
            format!(
                "no TLS with {place}: TLS: the peer refuses with the alert certificate_required; the broker wants"
            ),
        ),
        (
            node.url(""),
            &["--ca", &ca, "--certificate", &expired, "--certificate-key", &key],
            1,
            format!("no TLS with {place}: TLS: the peer refuses with the alert certificate_expired"),
        ),
        (
            elsewhere,
            &["--ca", &ca, "--certificate", &own, "--certificate-key", &key],
            1,
            format!("no TLS with {place}: TLS handshake: "),
        ),
        (node.url(""), &["--ca", "/no/such"], 2, "/no/such: No such file or directory".into()),
        (
            node.url(""),
            &["--ca", &ca, "--certificate", &own, "--certificate-key", &other_key],
            2,
            format!("{other_key}: the private key does not belong to the first certificate in {own}"),
        ),
        (
            node.url(&format!("?certfile={own}")),
            &["--ca", &ca],
            2,
            "a certificate needs its private key: --certificate-key, or keyfile in the address".into(),
        ),
        (
            format!("amqp://127.0.0.1:{}", node.plain),
            &["--ca", &ca],
            2,
            "--ca is for TLS: the address has to begin with amqps://".into(),
        ),
    ] {
        let line = run(&url, &[&["purge", "q"], options].concat()).bad(status);
        assert!(line.starts_with(&words), "{line}\ninstead of\n{words}");
    }
}

#[test]
fn ports_that_speak_something_else_are_one_clear_line() {
    let node = Secured::start("none");
    let ca = certificate("ca.pem");
    let url = format!("amqps://127.0.0.1:{}", node.plain);
    let line = run(&url, &["purge", "q", "--ca", &ca]).bad(1);
    let expected = format!(
        "no TLS with 127.0.0.1:{}: TLS handshake: the peer does not speak TLS; this may be the port of amqp://",
        node.plain
    );
    assert_eq!(line, expected);
    let line = run(&format!("amqp://127.0.0.1:{}", node.tls), &["purge", "q"]).bad(1);
    assert_eq!(line, format!("127.0.0.1:{} does not speak AMQP 0-9-1", node.tls));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    let words = ["purge", "q", "--ca", &ca, "--connect-timeout", "1s"];
    let line = run(&format!("amqps://{place}"), &words).bad(1);
    assert_eq!(line, format!("no TLS with {place}: timed out"));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let line = run(&format!("amqps://{nobody}"), &words).bad(1);
    assert!(line.starts_with(&format!("cannot connect to {nobody}: Connection refused")), "{line}");
}

#[test]
fn the_roots_of_the_system_can_be_read_and_do_not_know_a_test() {
    let node = Secured::start("none");
    let line = run(&node.url(""), &["purge", "q"]).bad(1);
    assert!(line.contains("none of the CA roots given here has signed"), "{line}");
}
