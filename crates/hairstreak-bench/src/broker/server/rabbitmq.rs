//! RabbitMQ with everything of its own: directory, ports, port mapper, node name, configuration, cookie.
//!
//! It is as Debian's package has it, without plugins. Everything listens on the loopback interface only, the port mapper
//! and the distribution of Erlang too. When it is dropped it is killed: nothing that it has is worth keeping.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use super::directory::{Directory, end, free_address, free_address_of};
use super::error::ServerError;
use super::task::ServerTask;

/// Its name in reports.
pub const NAME: &str = "RabbitMQ";
/// The script of Debian's package that starts it as whoever calls.
pub const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Erlang's port mapper.
const PORT_MAPPER: &str = "epmd";
/// The directory of data in its own directory.
const DATA: &str = "mnesia";
const NO_PLUGINS: &str = "[].\n";
/// The distribution between Erlang's nodes.
const LOOPBACK_DISTRIBUTION: &str = "-kernel inet_dist_use_interface {127,0,0,1}";

/// Whether `program` is there to be started.
pub fn is_installed(program: &str) -> bool {
    Path::new(program).is_file()
}

/// The most starts of a RabbitMQ that does not answer. Erlang may hang while it boots on a busy machine.
const STARTS_MAX: u32 = 3;

/// A running RabbitMQ.
#[derive(Debug)]
pub struct RabbitMq {
    server: Child,
    port_mapper: Child,
    /// Where it speaks AMQP.
    pub address: SocketAddr,
    directory: Directory,
}

impl RabbitMq {
    /// Starts the script of `task` and waits until RabbitMQ answers. A RabbitMQ that does not answer is started again, and standard error has the count.
    pub fn start(task: &ServerTask) -> Result<RabbitMq, ServerError> {
        let mut start_count = 1;
        loop {
            match RabbitMq::start_once(task) {
                Err(ServerError::Silent { .. }) if start_count < STARTS_MAX => {
                    eprintln!(
                        "RabbitMQ: start {start_count} of {STARTS_MAX} was not answered: started again"
                    );
                    start_count += 1;
                }
                started => return started,
            }
        }
    }

    fn start_once(task: &ServerTask) -> Result<RabbitMq, ServerError> {
        let program = &task.rabbitmq;
        let directory = Directory::new("rabbitmq")?;
        let (address, distribution, mapper) = (free_address_of(task.host)?, free_address()?, free_address()?);
        let configuration = configuration(task, address);
        let configuration = directory.write("rabbitmq.conf", &configuration)?;
        let environment = directory.write("rabbitmq-env.conf", "")?;
        let plugins = directory.write("enabled_plugins", NO_PLUGINS)?;
        // Erlang makes a missing cookie readable for all at first. A second Erlang that looks meanwhile refuses to start.
        directory.write_secret(".erlang.cookie")?;
        let mut port_mapper = Command::new(PORT_MAPPER);
        port_mapper.args(["-address", "127.0.0.1", "-port", &mapper.port().to_string()]);
        let mut port_mapper = directory.spawn(&mut port_mapper)?;
        let mut server = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        server
            .env_clear()
            .env("PATH", path)
            .env("HOME", &directory.path)
            .env("LANG", "C.UTF-8")
            // So that the script becomes the server instead of waiting for it.
            .env("RUNNING_UNDER_SYSTEMD", "true")
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("ERL_EPMD_PORT", mapper.port().to_string())
            .env("RABBITMQ_NODENAME", format!("hairstreak-bench-{}@localhost", std::process::id()))
            .env("RABBITMQ_NODE_IP_ADDRESS", address.ip().to_string())
            .env("RABBITMQ_NODE_PORT", address.port().to_string())
            .env("RABBITMQ_DIST_PORT", distribution.port().to_string())
            .env("RABBITMQ_MNESIA_BASE", directory.path.join(DATA))
            .env("RABBITMQ_LOG_BASE", directory.path.join("log"))
            .env("RABBITMQ_CONFIG_FILE", configuration)
            .env("RABBITMQ_CONF_ENV_FILE", environment)
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", plugins)
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", LOOPBACK_DISTRIBUTION);
        let server = directory.spawn(&mut server).inspect_err(|_| end(&mut port_mapper))?;
        let mut rabbitmq = RabbitMq { server, port_mapper, address, directory };
        rabbitmq.directory.wait_for(Path::new(program), &mut rabbitmq.server, address)?;
        Ok(rabbitmq)
    }

    /// The directory of its data.
    pub fn data(&self) -> PathBuf {
        self.directory.path.join(DATA)
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.server.id()
    }
}

/// The configuration file.
fn configuration(task: &ServerTask, address: SocketAddr) -> String {
    let mut text = format!("listeners.tcp.1 = {address}\nlog.console = false\nlog.file.level = warning\n");
    if !task.host.is_loopback() {
        text.push_str("loopback_users = none\n");
    }
    if let Some(bytes) = task.memory_bytes {
        text.push_str(&format!("vm_memory_high_watermark.absolute = {bytes}\n"));
    }
    text
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        end(&mut self.server);
        end(&mut self.port_mapper);
    }
}
