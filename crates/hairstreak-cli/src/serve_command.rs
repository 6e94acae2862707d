//! `hairstreak serve`: runs the node until a signal ends it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hairstreak_server::{
    AMQP_PORT, Config, DEFAULT_PORT, DataPlace, DirectoryOptions, Environment, Forgotten, HTTP_PORT,
    METRICS_PORT, SERVICES_PORT, ServeOptions, Server, StartError,
};
use hairstreak_socket::{BindError, Endpoint};
use signal_hook::iterator::Signals;

use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::line::one_line;
use crate::output::{announce, note};
use crate::service::service_options;
use crate::signals;

/// The name of the node, unless it is configured. Containers get a new host name with each start, so that no host name is in it.
const NODE_NAME: &str = "hairstreak@localhost";

/// RabbitMQ's words when all listeners are open.
const STARTED: &str = "Server startup complete";

/// The time between two lines about the same failure.
const FAILURE_INTERVAL: Duration = Duration::from_secs(60);

/// Returns when a signal has ended it, which is how it is meant to end.
pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    for (option, endpoints) in [("--bind", &arguments.bind), ("--services", &arguments.services)] {
        if let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.starts_with("inproc://")) {
            let reason = "nobody outside this process could reach it there, use tcp:// or ipc://";
            return Err(Failure::usage(format!("{option} {endpoint}: {reason}")));
        }
    }
    // Before it says that it is there: whoever reads that may send a signal at once.
    let mut signals = Signals::new(signals::ending()).map_err(Failure::failed)?;
    let ended = signals.handle();
    let verbose = arguments.verbose;
    let config_path = arguments.config.as_deref();
    let config = config_path.map(Config::load).transpose().map_err(Failure::usage)?.unwrap_or_default();
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let environment = Environment::of(variables).map_err(Failure::usage)?;
    let file = config_path.unwrap_or(Path::new(""));
    let amqp = config.amqp_options(file, &environment).map_err(Failure::usage)?;
    let amqp_tls = config.amqp_tls_options(file);
    let amqp_tls = amqp_tls.map_err(Failure::usage)?.filter(|_| !arguments.no_amqp);
    let directory = arguments.data_dir.as_deref().or(config.data_dir.as_deref());
    let node_name = environment.node_name.or(config.node_name).unwrap_or(NODE_NAME.into());
    let data = data_place(directory, node_name).map_err(Failure::usage)?;
    // With a directory in another place, several nodes can run on one host.
    let is_moved = !arguments.bind.is_empty() || arguments.port.is_some();
    let address = environment.address.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let at = |port: u16| match address {
        IpAddr::V4(address) => format!("tcp://{address}:{port}"),
        IpAddr::V6(address) => format!("tcp://[{address}]:{port}"),
    };
    let by_default = |port| if is_moved || arguments.no_amqp { Vec::new() } else { vec![at(port)] };
    let data_text = data.as_ref().map(|data| data.path.display().to_string());
    let options = ServeOptions {
        bind: match &arguments.bind[..] {
            [] => vec![format!("tcp://127.0.0.1:{}", arguments.port.unwrap_or(DEFAULT_PORT))],
            endpoints => endpoints.to_vec(),
        },
        services_bind: match &arguments.services[..] {
            [] if arguments.no_services || is_moved => Vec::new(),
            [] => vec![format!("tcp://127.0.0.1:{SERVICES_PORT}")],
            endpoints => endpoints.to_vec(),
        },
        amqp_bind: match config.amqp.bind {
            _ if arguments.no_amqp => Vec::new(),
            Some(endpoints) => endpoints,
            None if is_moved && environment.address.is_none() => Vec::new(),
            None => vec![at(environment.port.unwrap_or(AMQP_PORT))],
        },
        http_bind: config.http.bind.clone().unwrap_or_else(|| by_default(HTTP_PORT)),
        metrics_bind: config.metrics.bind.unwrap_or_else(|| by_default(METRICS_PORT)),
        http: config.http,
        amqp_tls,
        amqp,
        data,
        services: service_options(&arguments.limits),
        directory: DirectoryOptions {
            lease_ms: arguments.lease.as_millis() as u32,
            ..DirectoryOptions::default()
        },
        on_change: Box::new(move |change| {
            if verbose {
                note(&format!("{change}\n"));
            }
        }),
        on_end: Box::new(move || ended.close()),
        on_accept_failure: {
            let failures = AcceptFailures::default();
            Box::new(move |endpoint, reason| failures.tell(endpoint, reason))
        },
    };
    let server = Server::start(options).map_err(|error| match error {
        StartError::Bind(BindError::Endpoint(_)) => Failure::usage(error),
        _ => Failure::failed(error),
    })?;
    // In one piece: a reader of the first line may close the pipe at once, and would end the node with the next line.
    announce(greeting(&server, data_text.as_deref()))?;
    // A thread's end ends the signals.
    let stopped = signals.forever().next().is_some();
    let forgotten = server.stop();
    if forgotten.count > 0 {
        let Forgotten { count, persistent_count } = forgotten;
        note(&format!(
            "messages that were in queues and are gone: {count}, of these persistent in durable queues: {persistent_count}\n"
        ));
    }
    if stopped { Ok(()) } else { Err(Failure::failed("a part of the node has ended by itself")) }
}

/// Says why nothing can be accepted at an endpoint, each reason once a minute: a listener asks some times a second.
#[derive(Default)]
struct AcceptFailures(Mutex<HashMap<(String, String), Instant>>);

impl AcceptFailures {
    fn tell(&self, endpoint: &Endpoint, reason: &str) {
        let now = Instant::now();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| now.duration_since(*at) < FAILURE_INTERVAL);
        if let Entry::Vacant(place) = told.entry((endpoint.to_string(), reason.to_owned())) {
            place.insert(now);
            note(&format!("{}\n", one_line(&format!("{endpoint} accepts nobody: {reason}; trying again"))));
        }
    }
}

/// The data directory: the one that was given, or that of the platform.
fn data_place(given: Option<&Path>, node_name: String) -> Result<Option<DataPlace>, String> {
    let path = match given {
        Some(path) if path == Path::new("none") => return Ok(None),
        Some(path) => path.to_owned(),
        None => {
            state_directory().ok_or("no home directory is known; give --data-dir DIR, or --data-dir none")?
        }
    };
    Ok(Some(DataPlace { path, node_name }))
}

/// Where programs of this user keep their state.
fn state_directory() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = match variable("XDG_STATE_HOME") {
        Some(base) => base,
        None if rustix::process::geteuid().is_root() => PathBuf::from("/var/lib"),
        None => variable("HOME")?.join(".local/state"),
    };
    Some(base.join("hairstreak"))
}

/// The lines that say where the node is and what it is open to.
fn greeting(server: &Server, data: Option<&str>) -> String {
    let places = [
        ("directory", server.endpoints()),
        ("services", server.service_endpoints()),
        ("amqp", server.amqp_endpoints()),
        ("amqp with tls", server.amqp_tls_endpoints()),
    ];
    let places = places
        .into_iter()
        .flat_map(|(part, endpoints)| endpoints.iter().map(move |endpoint| format!("{part} at {endpoint}")));
    // Programs that start RabbitMQ in a container wait for the last line.
    let lines = places.chain(openness(server, data)).chain([STARTED.to_owned()]);
    lines.map(|line| line + "\n").collect()
}

/// The lines that say which endpoints are open to other hosts, and which messages are kept.
fn openness(server: &Server, data: Option<&str>) -> Vec<String> {
    let (plain, secured) = (server.amqp_endpoints(), server.amqp_tls_endpoints());
    let all = [server.endpoints(), server.service_endpoints(), plain, secured].concat();
    let open: Vec<String> =
        all.iter().filter(|endpoint| !is_local(endpoint)).map(Endpoint::to_string).collect();
    let mut lines = vec![match &open[..] {
        [] => "open to this host only".to_owned(),
        open => format!("open to other hosts: {}", open.join(", ")),
    }];
    if !(plain.is_empty() && secured.is_empty()) {
        lines.push(match data {
            Some(directory) => format!(
                "what is declared is kept in {directory}; messages are kept in memory until the node stops"
            ),
            None => "what is declared, and all messages, are kept in memory until the node stops".into(),
        });
    }
    lines
}

/// Whether only this host reaches the endpoint.
fn is_local(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tcp(address) => {
            address.host == "localhost" || address.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        _ => true,
    }
}
