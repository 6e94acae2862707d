//! AMQP over TLS: `tls.py` against RabbitMQ and against our node, which asks for no certificate of its clients, takes one, or wants one; and
//! certificates that are changed while the node runs.

use std::path::{Path, PathBuf};

use hairstreak_node::{AmqpConfig, ClientCertificatesConfig, NodeConfig, Server, TlsConfig};
use hairstreak_testkit::until;
use hairstreak_transport::tls::{Pem, TlsClient, TlsClientOptions};
use hairstreak_transport::{ClientLayer, Endpoint, Established, Stream};

use crate::program::{python, run};
use crate::setup::{definitions, rabbitmq};

fn certificates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hairstreak-transport/tests/streams/certificates")
}

/// A node with a certificate, which asks for no certificate of its clients.
fn config(certificate: &str) -> NodeConfig {
    with_tls(TlsConfig {
        bind: vec!["tcp://127.0.0.1:*".into()],
        certificate: certificates().join(certificate),
        key: certificates().join("server.key"),
        ..TlsConfig::default()
    })
}

fn with_tls(tls: TlsConfig) -> NodeConfig {
    let bind = Some(vec!["tcp://127.0.0.1:*".into()]);
    let amqp = AmqpConfig { bind, tls: Some(tls), ..AmqpConfig::default() };
    NodeConfig { load_definitions: Some(definitions()), amqp, ..NodeConfig::default() }
}

fn address(endpoint: &Endpoint) -> String {
    endpoint.to_string().strip_prefix("tcp://").unwrap().to_owned()
}

fn check(plain: &str, tls: &str, asks: &str, without: &[&str]) {
    let mut checks = python("tls.py");
    checks.args(["--plain", plain, "--tls", tls, "--asks", asks, "--certificates"]).arg(certificates());
    checks.args(without.iter().flat_map(|need| ["--without", need]));
    println!("{asks}\n{}", run(&mut checks));
}

#[test]
fn rabbitmq_passes_the_checks_of_tls() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    let (plain, tls) = (rabbitmq.address("AMQP_PORT").to_string(), rabbitmq.address("TLS_PORT").to_string());
    // The Erlang of Debian 12 speaks TLS 1.1. And RabbitMQ gives back the messages of a client that is killed in the middle of a publish over TLS only
    // when the client has missed its heartbeats, after a minute. RabbitMQ offers EXTERNAL to all clients.
    check(&plain, &tls, "optional", &["strict versions", "killed clients", "offers by certificate"]);
}

#[test]
fn our_node_passes_the_checks_of_tls() {
    for (asks, client_certificates) in [
        ("none", ClientCertificatesConfig::None),
        ("optional", ClientCertificatesConfig::Optional),
        ("required", ClientCertificatesConfig::Required),
    ] {
        let tls = config("server.pem").amqp.tls.unwrap();
        let ca = (asks != "none").then(|| certificates().join("ca.pem"));
        let server = Server::start(with_tls(TlsConfig { ca, client_certificates, ..tls })).unwrap();
        let without = if asks == "none" { &["external"][..] } else { &[] };
        check(
            &address(&server.amqp_endpoints()[0]),
            &address(&server.amqp_tls_endpoints()[0]),
            asks,
            without,
        );
    }
}

/// The end of a handshake with the node's TLS.
fn shake_hands(endpoint: &Endpoint) -> Result<(), String> {
    let roots = Pem::file(certificates().join("ca.pem"));
    let client = TlsClient::load(&TlsClientOptions::new(roots), "localhost").unwrap();
    let stream = Stream::connect_tcp(address(endpoint).parse().unwrap()).unwrap();
    let mut stream = stream.with_client_layer(&ClientLayer::Tls(client));
    until("the handshake is over", || match stream.establish() {
        Ok(Established::Done) => Ok(Ok(())),
        Ok(other) => Err(other),
        Err(error) => Ok(Err(error.to_string())),
    })
}

#[test]
fn certificates_are_changed_while_the_node_runs() {
    let server = Server::start(config("expired.pem")).unwrap();
    let endpoint = &server.amqp_tls_endpoints()[0];
    let error = shake_hands(endpoint).unwrap_err();
    assert!(error.contains("expired"), "{error}");
    let error = server.reload(&config("missing.pem")).unwrap_err().to_string();
    assert!(error.contains("missing.pem"), "{error}");
    assert!(shake_hands(endpoint).is_err());
    server.reload(&config("server.pem")).unwrap();
    shake_hands(endpoint).unwrap();
}

#[test]
fn a_node_does_not_start_with_certificates_that_it_cannot_use() {
    for (certificate, key, reason) in [
        ("missing.pem", "server.key", "missing.pem: No such file"),
        ("server.pem", "client.key", "client.key: the private key does not belong to the first certificate"),
        ("server.pem", "encrypted.key", "encrypted.key: the private key is encrypted"),
    ] {
        let key = certificates().join(key);
        let tls = TlsConfig { key, ..config(certificate).amqp.tls.unwrap() };
        let error = Server::start(with_tls(tls)).unwrap_err().to_string();
        assert!(error.contains(reason) && !error.contains('\n'), "{error}");
    }
}
