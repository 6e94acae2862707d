//! `Plan`: the options of the node, from the arguments, the environment and the configuration file, in this order.
//!
//! - `data_place`: the place of the node's definitions.

use std::path::{Path, PathBuf};

use hairstreak_management::{DISK_FREE_LIMIT, HTTP_PORT, METRICS_PORT, ManagementOptions};
use hairstreak_node::{
    AMQP_PORT, AmqpOptions, AmqpTlsOptions, Config, DEFAULT_PORT, DataPlace, DirectoryOptions, Environment,
    HttpTlsOptions, LogFormat, LogLevel, SERVICES_PORT, ServeOptions,
};
use hairstreak_socket::{Endpoint, TcpAddress};

use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::service::service_options;

/// The default name of the node. It has no host name, because containers get a new host name with each start.
const NODE_NAME: &str = "hairstreak@localhost";

/// The configuration file and the environment.
pub struct Plan {
    config: Config,
    environment: Environment,
}

impl Plan {
    pub fn read(arguments: &ServeArguments) -> Result<Plan, Failure> {
        for (option, endpoints) in [("--bind", &arguments.bind), ("--services", &arguments.services)] {
            if let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.starts_with("inproc://")) {
                let reason = "nobody outside this process could reach it there, use tcp:// or ipc://";
                return Err(Failure::usage(format!("{option} {endpoint}: {reason}")));
            }
        }
        let config = arguments.config.as_deref().map(Config::load).transpose();
        let config = config.map_err(Failure::usage)?.unwrap_or_default();
        let environment = Environment::of(std::env::vars_os()).map_err(Failure::usage)?;
        Ok(Plan { config, environment })
    }

    /// The options of AMQP.
    pub fn amqp(&self) -> Result<AmqpOptions, Failure> {
        self.config.amqp_options(&self.environment).map_err(Failure::usage)
    }

    /// Returns the lowest level of log lines, and their format.
    pub fn log(&self, arguments: &ServeArguments) -> (LogLevel, LogFormat) {
        let log = &self.config.log;
        let level = arguments.log_level.or(log.level).unwrap_or_default();
        (level, arguments.log_format.or(log.format).unwrap_or_default())
    }

    /// The options of AMQP with TLS.
    pub fn tls(&self, arguments: &ServeArguments) -> Result<Option<AmqpTlsOptions>, Failure> {
        let options = self.config.amqp_tls_options().map_err(Failure::usage)?;
        Ok(options.filter(|_| !arguments.no_amqp))
    }

    /// The options of operators' HTTP with TLS.
    pub fn http_tls(&self, arguments: &ServeArguments) -> Result<Option<HttpTlsOptions>, Failure> {
        let options = self.config.http_tls_options().map_err(Failure::usage)?;
        Ok(options.filter(|_| !arguments.no_amqp))
    }

    /// The options of the operators' side.
    pub fn management(&self, arguments: &ServeArguments) -> Result<ManagementOptions, Failure> {
        let config = &self.config;
        Ok(ManagementOptions {
            http_bind: self.for_operators(arguments, &config.http.bind, HTTP_PORT),
            http_tls: self.http_tls(arguments)?,
            http: config.http.clone(),
            metrics_bind: self.for_operators(arguments, &config.metrics.bind, METRICS_PORT),
            metrics: config.metrics.clone(),
            require_login: config.require_login,
            disk_free_limit: config.disk_free_limit.unwrap_or(DISK_FREE_LIMIT),
            config_file: arguments.config.clone(),
        })
    }

    /// The endpoints of an operators' listener: the configured endpoints, or the default port of a node with the default
    /// directory.
    fn for_operators(
        &self,
        arguments: &ServeArguments,
        bind: &Option<Vec<String>>,
        port: u16,
    ) -> Vec<String> {
        match bind {
            _ if arguments.no_amqp => Vec::new(),
            Some(endpoints) => endpoints.clone(),
            None if is_moved(arguments) => Vec::new(),
            None => vec![self.at(port)],
        }
    }

    /// The options of the node, without its operators' side.
    pub fn options(
        &self,
        arguments: &ServeArguments,
        management: &ManagementOptions,
    ) -> Result<ServeOptions, Failure> {
        let Plan { config, environment } = self;
        let directory = arguments.data_dir.as_deref().or(config.data_dir.as_deref());
        let node_name = environment.node_name.as_ref().or(config.node_name.as_ref());
        let node_name = node_name.map_or(NODE_NAME, String::as_str).to_owned();
        let is_moved = is_moved(arguments);
        let amqp_bind = match &config.amqp.bind {
            _ if arguments.no_amqp => Vec::new(),
            Some(endpoints) => endpoints.clone(),
            None if is_moved && environment.address.is_none() => Vec::new(),
            None => vec![self.at(environment.port.unwrap_or(AMQP_PORT))],
        };
        let amqp_tls = self.tls(arguments)?;
        let has_amqp = !amqp_bind.is_empty() || amqp_tls.is_some();
        // Several nodes without AMQP and HTTP can run on one host, and only one of them may use a data directory: the user has to name it.
        let data = match directory {
            None if !has_amqp && !management.has_http() => None,
            directory => data_place(directory, node_name).map_err(Failure::usage)?,
        };
        Ok(ServeOptions {
            bind: match &arguments.bind[..] {
                [] if arguments.no_directory => Vec::new(),
                [] => vec![format!("tcp://127.0.0.1:{}", arguments.port.unwrap_or(DEFAULT_PORT))],
                endpoints => endpoints.to_vec(),
            },
            services_bind: match &arguments.services[..] {
                [] if arguments.no_services || is_moved => Vec::new(),
                [] => vec![format!("tcp://127.0.0.1:{SERVICES_PORT}")],
                endpoints => endpoints.to_vec(),
            },
            amqp_bind,
            is_managed: management.has_endpoints(),
            amqp_tls,
            amqp: self.amqp()?,
            require_login: config.require_login,
            curve: config.curve_keys().map_err(Failure::usage)?,
            data,
            services: service_options(&arguments.limits),
            directory: DirectoryOptions {
                lease_ms: arguments.lease.as_millis() as u32,
                ..DirectoryOptions::default()
            },
            ..ServeOptions::default()
        })
    }

    /// Returns an endpoint at the address in the environment, or on loopback.
    fn at(&self, port: u16) -> String {
        let host = self.environment.address.as_deref().unwrap_or("127.0.0.1").to_owned();
        Endpoint::Tcp(TcpAddress { host, port }).to_string()
    }
}

/// Returns `true` if the directory listens at another place than by default, so that several nodes can run on one host.
fn is_moved(arguments: &ServeArguments) -> bool {
    !arguments.bind.is_empty() || arguments.port.is_some()
}

/// Returns the given data directory, or the platform's.
pub fn data_place(given: Option<&Path>, node_name: String) -> Result<Option<DataPlace>, String> {
    let path = match given {
        Some(path) if path == Path::new("none") => return Ok(None),
        Some(path) => path.to_owned(),
        None => {
            state_directory().ok_or("no home directory is known; give --data-dir DIR, or --data-dir none")?
        }
    };
    Ok(Some(DataPlace { path, node_name }))
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
