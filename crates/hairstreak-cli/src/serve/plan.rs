//! The settings of the node: the arguments, the environment and the configuration file, in this order.

use std::path::{Path, PathBuf};

use hairstreak_node::{Environment, NodeConfig};
use hairstreak_socket::{Endpoint, TcpAddress};

use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::service::service_options;

/// The port of the directory.
const DIRECTORY_PORT: u16 = 5682;
/// The port of services: Majordomo's.
const SERVICES_PORT: u16 = 5555;
/// The port of AMQP.
const AMQP_PORT: u16 = 5672;
/// The port of the HTTP API.
const HTTP_PORT: u16 = 15672;
/// The port of metrics.
const METRICS_PORT: u16 = 15692;

/// Reads the file and the environment, and returns the settings of the node.
pub fn node_config(arguments: &ServeArguments) -> Result<NodeConfig, Failure> {
    for (option, endpoints) in [("--bind", &arguments.bind), ("--services", &arguments.services)] {
        if let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.starts_with("inproc://")) {
            let reason = "nobody outside this process could reach it there, use tcp:// or ipc://";
            return Err(Failure::usage(format!("{option} {endpoint}: {reason}")));
        }
    }
    let config = arguments.config.as_deref().map(NodeConfig::load).transpose();
    let mut config = config.map_err(Failure::usage)?.unwrap_or_default();
    let environment = Environment::of(std::env::vars_os()).map_err(Failure::usage)?;
    environment.apply(&mut config).map_err(Failure::usage)?;
    config.log.level = arguments.log_level.unwrap_or(config.log.level);
    config.log.format = arguments.log_format.unwrap_or(config.log.format);
    config.services = service_options(&arguments.limits);
    config.directory.lease_ms = arguments.lease.as_millis() as u32;
    set_endpoints(&mut config, arguments, &environment);
    config.data_dir = match arguments.data_dir.clone().or(config.data_dir.take()) {
        Some(path) if path == Path::new("none") => None,
        // Several nodes without AMQP and HTTP can run on one host, and only one of them may have the directory: the user asks for the directory.
        None if !config.has_amqp() && !config.has_http() => None,
        None => {
            let reason = "no home directory is known; give --data-dir DIR, or --data-dir none";
            Some(state_directory().ok_or_else(|| Failure::usage(reason))?)
        }
        given => given,
    };
    Ok(config)
}

/// Sets the endpoints that are given, and the usual ones where none are.
fn set_endpoints(config: &mut NodeConfig, arguments: &ServeArguments, environment: &Environment) {
    // Without the usual directory, several nodes can run on one host: no port is a usual one.
    let is_moved = !arguments.bind.is_empty() || arguments.port.is_some();
    config.directory_bind = match &arguments.bind[..] {
        [] if arguments.no_directory => Vec::new(),
        [] => vec![format!("tcp://127.0.0.1:{}", arguments.port.unwrap_or(DIRECTORY_PORT))],
        endpoints => endpoints.to_vec(),
    };
    config.services_bind = match &arguments.services[..] {
        [] if arguments.no_services || is_moved => Vec::new(),
        [] => vec![format!("tcp://127.0.0.1:{SERVICES_PORT}")],
        endpoints => endpoints.to_vec(),
    };
    if arguments.no_amqp {
        (config.amqp.tls, config.http.tls) = (None, None);
    }
    let has_amqp = !is_moved || environment.address.is_some();
    let amqp_port = environment.port.unwrap_or(AMQP_PORT);
    for (bind, port, has_usual) in [
        (&mut config.amqp.bind, amqp_port, has_amqp),
        (&mut config.http.bind, HTTP_PORT, !is_moved),
        (&mut config.metrics.bind, METRICS_PORT, !is_moved),
    ] {
        let host = environment.address.as_deref().unwrap_or("127.0.0.1").to_owned();
        let usual = || vec![Endpoint::Tcp(TcpAddress { host, port }).to_string()];
        *bind = match bind.take() {
            _ if arguments.no_amqp => None,
            None => has_usual.then(usual),
            configured => configured,
        };
    }
}

/// Returns the directory in which programs of this user keep their state.
fn state_directory() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = match variable("XDG_STATE_HOME") {
        Some(base) => base,
        None if rustix::process::geteuid().is_root() => PathBuf::from("/var/lib"),
        None => variable("HOME")?.join(".local/state"),
    };
    Some(base.join("hairstreak"))
}
