//! TLS with another implementation at the other side: OpenSSL, in Python.

use std::io::{BufRead, BufReader, ErrorKind};
use std::process::{Child, ChildStdout, Command, Stdio};

use hairstreak_testkit::BoundedChild;
use hairstreak_transport::tls::{ClientCertificates, TlsClientOptions, TlsServer, TlsServerOptions};
use hairstreak_transport::{ClientLayer, Endpoint, ServerLayer, Stream};

use crate::certificate::{client_options, client_with, identity, pem, server_options};
use crate::end::{End, pattern};
use crate::kind::Kind;

const VERSIONS: [(&str, &str); 2] = [("TLSv1_3", "TLSv1.3"), ("TLSv1_2", "TLSv1.2")];
/// More than the buffers on the way hold, so that both sides run out of room at times.
const SIZE: usize = 3_000_000;

/// Python at the other side.
struct Python {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Python {
    fn start(arguments: &[&str]) -> Python {
        const CRATE: &str = env!("CARGO_MANIFEST_DIR");
        let mut child = Command::new(format!("{CRATE}/../../.venv/bin/python"))
            .arg(format!("{CRATE}/tests/streams/interoperability.py"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect(".venv is made by scripts/test-setup");
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Python { child, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn wait(mut self) {
        assert!(self.child.end().success());
    }
}

/// The client of this side. Client and server have the same certificate requirements, and both speak `spoken`.
fn client_layer() -> ClientLayer {
    ClientLayer::Tls(client_with(&TlsClientOptions {
        identity: Some(identity("client.pem", "client.key")),
        protocols: vec!["spoken".into()],
        ..client_options()
    }))
}

fn server_layer() -> ServerLayer {
    let options = TlsServerOptions {
        client_certificates: ClientCertificates::Required(pem("ca.pem")),
        protocols: vec!["spoken".into()],
        ..server_options()
    };
    ServerLayer::Tls(TlsServer::load(&options).unwrap())
}

/// A connection to Python as the server, or from Python as the client.
fn connected(python_serves: bool, version: &str, behaviour: &[&str]) -> (End, Python) {
    if python_serves {
        let mut python = Python::start(&[&["server", version], behaviour].concat());
        let address = format!("127.0.0.1:{}", python.line());
        let stream = Stream::connect_tcp(address.parse().unwrap()).unwrap();
        (End::new(stream.with_client_layer(&client_layer())), python)
    } else {
        let place = Kind::Tcp.listen();
        let Endpoint::Tcp(address) = place.listener.endpoint() else { panic!("not tcp") };
        let python = Python::start(&[&["client", version, &address.port.to_string()], behaviour].concat());
        (End::new(place.accept().with_server_layer(&server_layer())), python)
    }
}

#[test]
fn openssl_at_either_side_gets_all_bytes_and_ends_cleanly() {
    for python_serves in [true, false] {
        for (version, name) in VERSIONS {
            println!("{name}, Python serves: {python_serves}");
            let (mut end, mut python) = connected(python_serves, version, &[]);
            end.establish_by_events().unwrap();
            let peer = if python_serves { "tester" } else { "localhost" };
            let own = if python_serves { "localhost" } else { "tester" };
            assert_eq!(python.line(), format!("{name} spoken {peer}"));
            let session = end.stream.tls().unwrap();
            let certificate = session.peer_certificate().unwrap();
            assert!(certificate.windows(own.len()).any(|window| window == own.as_bytes()));
            assert_eq!(session.version(), version);
            assert!(!session.cipher_suite().is_empty());
            assert_eq!(session.protocol(), Some(&b"spoken"[..]));
            end.write_all(&pattern(0, SIZE));
            end.end_output();
            let (received, result) = end.read_to_end();
            assert_eq!(received, SIZE);
            result.unwrap();
            python.wait();
        }
    }
}

#[test]
fn openssl_that_leaves_without_a_word_is_told_apart_from_one_that_ends() {
    let (mut end, python) = connected(true, "TLSv1_3", &["silent"]);
    end.establish_by_events().unwrap();
    end.write_all(&pattern(0, 1000));
    end.end_output();
    let (received, result) = end.read_to_end();
    assert_eq!((received, result.unwrap_err().kind()), (1000, ErrorKind::UnexpectedEof));
    python.wait();
}
