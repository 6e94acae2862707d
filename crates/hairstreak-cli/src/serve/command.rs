//! Runs the node until a signal ends it. SIGHUP has the node read its configuration again.
//!
//! - `AcceptFailures`: the lines about endpoints at which nothing can be accepted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hairstreak_management::{Management, ManagementListeners};
use hairstreak_node::{Callbacks, Forgotten, Server, StartError};
use hairstreak_socket::{BindError, Endpoint};
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;

use super::greeting::greeting;
use super::plan::node_config;
use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::logging::{self, Logging};
use crate::output::announce;
use crate::signals;
use crate::systemd::Supervisor;

/// Serves until a signal ends it, which is the normal end.
pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    // The signals are set up before the announcement: its reader may send a signal at once.
    let mut watched = signals::ending();
    watched.retain(|signal| *signal != SIGHUP || arguments.config.is_none());
    watched.extend(arguments.config.as_ref().map(|_| SIGHUP));
    let mut signals = Signals::new(watched).map_err(Failure::failed)?;
    let ended = signals.handle();
    let config = node_config(arguments)?;
    let supervisor = Supervisor::of_environment().map_err(Failure::usage)?;
    let logging = logging::start(config.log.level, config.log.format)?;
    let verbose = arguments.verbose;
    let failures = AcceptFailures::default();
    let callbacks = Callbacks {
        on_change: Box::new(move |change| {
            if verbose {
                log::info!("{change}");
            }
        }),
        on_end: Box::new(move || ended.close()),
        on_accept_failure: Box::new(move |endpoint, reason| failures.tell(endpoint, reason)),
    };
    let listeners = ManagementListeners::bind(&config).map_err(Failure::failed)?;
    let server = Server::start_with(config, callbacks).map_err(|error| match error {
        StartError::Bind(BindError::Endpoint(_)) | StartError::NoEndpoint | StartError::Config(_) => {
            Failure::usage(error)
        }
        _ => Failure::failed(error),
    })?;
    let management = listeners.serve(&server).map_err(Failure::failed)?;
    // One write: a reader of the first line may close the pipe at once, and the next write would end the node.
    announce(greeting(&server, &management))?;
    supervisor.ready("running");
    // A thread's end ends the signals.
    let mut arriving = signals.forever();
    let stopped = loop {
        match arriving.next() {
            Some(SIGHUP) if arguments.config.is_some() => {
                supervisor.reloading();
                reload(&server, &management, arguments, &logging);
                supervisor.ready("running");
            }
            signal => break signal.is_some(),
        }
    };
    supervisor.stopping();
    drop(management);
    let forgotten = server.stop();
    if forgotten.count > 0 {
        let Forgotten { count, persistent_count, .. } = forgotten;
        log::warn!(
            count = count, persistent_in_durable_queues = persistent_count;
            "messages that were in queues are gone"
        );
    }
    if let Some(reason) = forgotten.unwritten {
        return Err(Failure::failed(format!("changes that were refused are lost with the node: {reason}")));
    }
    if stopped { Ok(()) } else { Err(Failure::failed("a part of the node has ended by itself")) }
}

/// Has users, limits, certificates and the log of the configuration take effect. A configuration that makes no sense changes nothing.
fn reload(server: &Server, management: &Management, arguments: &ServeArguments, logging: &Logging) {
    let reloaded = node_config(arguments).and_then(|config| {
        management.reload(&config).map_err(Failure::failed)?;
        server.reload(&config).map_err(Failure::failed)?;
        logging.change(config.log.level, config.log.format);
        Ok(())
    });
    match reloaded {
        Ok(()) => log::info!("the configuration was read again: users, limits, certificates and the log"),
        Err(failure) => log::error!(reason = failure.reason(); "the configuration stays as it was"),
    }
}

/// The time between two lines about the same failure.
const FAILURE_INTERVAL: Duration = Duration::from_secs(60);

/// Reports the reasons for which an endpoint accepts no connection, each once a minute: a listener asks some times a
/// second.
#[derive(Default)]
pub struct AcceptFailures(Mutex<HashMap<(String, String), Instant>>);

impl AcceptFailures {
    pub fn tell(&self, endpoint: &Endpoint, reason: &str) {
        let now = Instant::now();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| now.duration_since(*at) < FAILURE_INTERVAL);
        if let Entry::Vacant(place) = told.entry((endpoint.to_string(), reason.to_owned())) {
            place.insert(now);
            log::warn!(endpoint:% = endpoint, reason = reason; "nobody is accepted, trying again");
        }
    }
}
