//! `hairstreak serve`: runs the node until a signal ends it.

use hairstreak_server::{DEFAULT_PORT, DirectoryOptions, SERVICES_PORT, ServeOptions, Server, StartError};
use hairstreak_socket::BindError;
use signal_hook::iterator::Signals;

use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::output::{announce, note};
use crate::service::service_options;
use crate::signals;

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
    let options = ServeOptions {
        bind: match &arguments.bind[..] {
            [] => vec![format!("tcp://*:{}", arguments.port.unwrap_or(DEFAULT_PORT))],
            endpoints => endpoints.to_vec(),
        },
        services_bind: match &arguments.services[..] {
            // Who chooses another place for the directory may have several on one host.
            [] if arguments.no_services || !arguments.bind.is_empty() || arguments.port.is_some() => {
                Vec::new()
            }
            [] => vec![format!("tcp://*:{SERVICES_PORT}")],
            endpoints => endpoints.to_vec(),
        },
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
    };
    let server = Server::start(options).map_err(|error| match error {
        StartError::Bind(BindError::Endpoint(_)) => Failure::usage(error),
        _ => Failure::failed(error),
    })?;
    for endpoint in server.endpoints() {
        announce(format!("directory at {endpoint}\n"))?;
    }
    for endpoint in server.service_endpoints() {
        announce(format!("services at {endpoint}\n"))?;
    }
    // A thread's end ends the signals.
    let stopped = signals.forever().next().is_some();
    server.stop();
    if stopped { Ok(()) } else { Err(Failure::failed("a part of the node has ended by itself")) }
}
