//! `hairstreak serve`: runs the node until a signal ends it.

use hairstreak_server::{DirectoryOptions, ServeOptions, Server, StartError};
use hairstreak_socket::BindError;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::output::{announce, note};

/// Returns when a signal has ended it, which is how it is meant to end.
pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    if let Some(endpoint) = arguments.bind.iter().find(|endpoint| endpoint.starts_with("inproc://")) {
        let reason = "nobody outside this process could reach the directory there, use tcp:// or ipc://";
        return Err(Failure::usage(format!("--bind {endpoint}: {reason}")));
    }
    // Before it says that it is there: whoever reads that may send a signal at once.
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
    let ended = signals.handle();
    let verbose = arguments.verbose;
    let options = ServeOptions {
        bind: match &arguments.bind[..] {
            [] => vec![format!("tcp://*:{}", arguments.port)],
            endpoints => endpoints.to_vec(),
        },
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
        announce(&format!("directory at {endpoint}\n"))?;
    }
    // The directory's end ends the signals.
    let stopped = signals.forever().next().is_some();
    server.stop();
    if stopped { Ok(()) } else { Err(Failure::failed("the directory has ended by itself")) }
}
