//! `with_connection`: a connection for the time of a command.

use std::time::Duration;

use clap::Args;
use hairstreak_amqp::{Address, ClientError, Connection, open};

use super::tls::TlsArguments;
use crate::failure::Failure;
use crate::numbers::bounded;

/// The default URL of a broker.
const URL: &str = "amqp://guest:guest@127.0.0.1:5672/%2F";
/// The variable with the URL.
const URL_VARIABLE: &str = "AMQP_URL";
/// The longest timeout of a connection.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// The broker.
#[derive(Debug, Args)]
pub struct BrokerArguments {
    /// The broker: amqp://USER:PASSWORD@HOST:PORT/VIRTUAL-HOST, amqps:// with TLS, or amqp+unix:///PATH for a unix
    /// socket. Names and passwords may have percent escapes; %2F is the virtual host "/". [default: the environment's AMQP_URL,
    /// else amqp://guest:guest@127.0.0.1:5672/%2F]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The time limit for connecting and the login.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = connect_timeout)]
    connect_timeout: Duration,
    #[command(flatten)]
    tls: TlsArguments,
}

impl BrokerArguments {
    fn address(&self) -> Result<Address, Failure> {
        let variable = std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty());
        let (source, url) = match (&self.url, variable) {
            (Some(url), _) => ("--url", url.clone()),
            (None, Some(url)) => (URL_VARIABLE, url),
            (None, None) => ("the default", URL.to_owned()),
        };
        url.parse().map_err(|error| Failure::usage(format!("{source}: {error}")))
    }
}

/// Connects, runs `work`, and closes the connection in order, after success and after failure.
pub fn with_connection<T>(
    broker: &BrokerArguments,
    work: impl FnOnce(&mut Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let name = format!("hairstreak {}", std::process::id());
    let address = broker.address()?;
    let tls = broker.tls.client(&address).map_err(Failure::usage)?;
    let mut connection = open(&address, tls.as_ref(), &name, broker.connect_timeout)?;
    let done = work(&mut connection);
    connection.close();
    done
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        Failure::failed(error)
    }
}

fn connect_timeout(text: &str) -> Result<Duration, String> {
    bounded(text, "a connect timeout", CONNECT_TIMEOUT_MAX)
}
