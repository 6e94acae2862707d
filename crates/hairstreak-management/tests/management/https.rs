//! `https.py`: the API over TLS, at RabbitMQ and at our node, which asks for no certificate of its clients, takes one, or wants one; and certificates
//! that are changed while the node runs.

use std::path::Path;

use hairstreak_management::{Management, ManagementListeners};
use hairstreak_node::{ClientCertificatesConfig, HttpConfig, NodeConfig, Server, TlsConfig};
use hairstreak_testkit::BoundedCommand;

use crate::program::run;
use crate::rabbitmq::{CERTIFICATES, RabbitMq, Setup};
use crate::target::management_program;

/// A RabbitMQ that takes certificates of its clients.
const WITH_TLS: Setup = Setup {
    ports: &["AMQP", "HTTP", "SECURED"],
    plugins: "[rabbitmq_management].",
    configuration: "\
listeners.tcp.1 = 127.0.0.1:AMQP
management.tcp.ip = 127.0.0.1
management.tcp.port = HTTP
management.ssl.ip = 127.0.0.1
management.ssl.port = SECURED
management.ssl.verify = verify_peer
management.ssl.fail_if_no_peer_cert = false
management.ssl.cacertfile = CERTIFICATES/ca.pem
management.ssl.certfile = CERTIFICATES/server.pem
management.ssl.keyfile = CERTIFICATES/server.key
log.console = false
disk_free_limit.absolute = 1MB
",
    definitions: "",
};

fn check(plain: &str, tls: &str, asks: &str) {
    let mut checks = management_program("https.py");
    checks.args(["--plain", plain, "--tls", tls, "--asks", asks, "--certificates"]).arg(CERTIFICATES);
    println!("{asks}\n{}", run(&mut checks));
}

fn config(certificate: &str, client_certificates: ClientCertificatesConfig) -> NodeConfig {
    let is_asked = client_certificates != ClientCertificatesConfig::None;
    let bind = vec!["tcp://127.0.0.1:*".to_owned()];
    let tls = TlsConfig {
        bind: bind.clone(),
        certificate: Path::new(CERTIFICATES).join(certificate),
        key: Path::new(CERTIFICATES).join("server.key"),
        ca: is_asked.then(|| Path::new(CERTIFICATES).join("ca.pem")),
        client_certificates,
        ..TlsConfig::default()
    };
    let http = HttpConfig { bind: Some(bind), tls: Some(tls), ..HttpConfig::default() };
    NodeConfig { http, ..NodeConfig::default() }
}

/// The HTTP of a node, and the node.
fn serve(config: NodeConfig) -> (Management, Server) {
    let listeners = ManagementListeners::bind(&config).unwrap();
    let server = Server::start(config).unwrap();
    (listeners.serve(&server).unwrap(), server)
}

#[test]
fn rabbitmq_serves_https() {
    let rabbitmq = RabbitMq::start(&WITH_TLS, &[]);
    let [plain, tls] = ["HTTP", "SECURED"].map(|port| rabbitmq.address(port).to_string());
    check(&plain, &tls, "optional");
}

#[test]
fn our_node_serves_https() {
    for (asks, client_certificates) in [
        ("none", ClientCertificatesConfig::None),
        ("optional", ClientCertificatesConfig::Optional),
        ("required", ClientCertificatesConfig::Required),
    ] {
        let (management, _server) = serve(config("server.pem", client_certificates));
        let [plain, tls] = [management.http_addresses(), management.https_addresses()];
        check(&plain[0].to_string(), &tls[0].to_string(), asks);
    }
}

#[test]
fn certificates_of_https_are_changed_while_the_node_runs() {
    let (management, _server) = serve(config("expired.pem", ClientCertificatesConfig::None));
    let missing = config("missing.pem", ClientCertificatesConfig::None);
    let error = management.reload(&missing).unwrap_err().to_string();
    assert!(error.contains("missing.pem"), "{error}");
    let ask = || {
        let address = management.https_addresses()[0];
        let ca = Path::new(CERTIFICATES).join("ca.pem");
        let url = format!("https://localhost:{}/api/version", address.port());
        let mut curl = std::process::Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--cacert"]).arg(ca).arg(url);
        curl.run_to_end()
    };
    let refused = ask();
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && complaint.contains("expired"), "{complaint}");
    management.reload(&config("server.pem", ClientCertificatesConfig::None)).unwrap();
    assert!(ask().status.success());
}

#[test]
fn a_node_does_not_start_with_certificates_of_https_that_it_cannot_use() {
    let config = config("missing.pem", ClientCertificatesConfig::None);
    let error = ManagementListeners::bind(&config).unwrap_err().to_string();
    assert!(error.contains("missing.pem: No such file"), "{error}");
}
