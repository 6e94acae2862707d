//! The lines that the node prints when it has started.

use std::net::IpAddr;

use hairstreak_management::Management;
use hairstreak_node::Server;
use hairstreak_socket::Endpoint;

/// RabbitMQ's words when all listeners are open.
const STARTED: &str = "Server startup complete";

/// Returns the lines about the node's endpoints and their openness.
pub fn greeting(server: &Server, management: &Management) -> String {
    let places = [
        ("directory", server.endpoints()),
        ("services", server.service_endpoints()),
        ("amqp", server.amqp_endpoints()),
        ("amqp with tls", server.amqp_tls_endpoints()),
    ];
    let places = places
        .into_iter()
        .flat_map(|(part, endpoints)| endpoints.iter().map(move |endpoint| format!("{part} at {endpoint}")));
    let http = management.http_addresses().iter().map(|address| format!("http at http://{address}"));
    let https =
        management.https_addresses().iter().map(|address| format!("http with tls at https://{address}"));
    let metrics =
        management.metrics_addresses().iter().map(|address| format!("metrics at http://{address}/metrics"));
    let key = server.curve_key().map(|key| format!("public key of the directory and services: {key}"));
    // Programs that start RabbitMQ in a container wait for the last line.
    let lines = places
        .chain(http)
        .chain(https)
        .chain(metrics)
        .chain(openness(server, management))
        .chain(key)
        .chain([STARTED.to_owned()]);
    lines.map(|line| line + "\n").collect()
}

/// Returns the lines about endpoints that are open to other hosts, and about the messages that are kept.
fn openness(server: &Server, management: &Management) -> Vec<String> {
    let (plain, secured) = (server.amqp_endpoints(), server.amqp_tls_endpoints());
    let all = [server.endpoints(), server.service_endpoints(), plain, secured].concat();
    let open = all.iter().filter(|endpoint| !is_local(endpoint)).map(Endpoint::to_string);
    let http = management.http_addresses().iter().chain(management.metrics_addresses());
    let http = http.map(|address| ("http", address));
    let https = management.https_addresses().iter().map(|address| ("https", address));
    let open_to_others = http.chain(https).filter(|(_, address)| !address.ip().is_loopback());
    let open: Vec<String> =
        open.chain(open_to_others.map(|(scheme, address)| format!("{scheme}://{address}"))).collect();
    let mut lines = vec![match &open[..] {
        [] => "open to this host only".to_owned(),
        open => format!("open to other hosts: {}", open.join(", ")),
    }];
    let has_http = !(management.http_addresses().is_empty() && management.https_addresses().is_empty());
    if !(plain.is_empty() && secured.is_empty()) || has_http {
        lines.push(match &server.config().data_dir {
            Some(directory) => format!(
                "what is declared, and persistent messages of durable queues, are kept in {}",
                directory.display()
            ),
            None => "what is declared, and all messages, are kept in memory until the node stops".into(),
        });
    }
    lines
}

/// Returns `true` if only this host reaches the endpoint.
fn is_local(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tcp(address) => {
            address.host == "localhost" || address.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        _ => true,
    }
}
