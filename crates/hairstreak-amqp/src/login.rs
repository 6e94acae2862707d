//! `open`: from the protocol header to an open channel.

use std::time::{Duration, Instant};

use hairstreak_wire::amqp::sasl::{Credentials, Mechanism};
use hairstreak_wire::amqp::{
    FRAME_SIZE_MIN, FieldTable, Method, PROTOCOL_HEADER, Tuning, channel, connection,
};

use super::address::Address;
use super::connection::{CHANNEL, Connection};
use super::error::ClientError;
use super::event::{Reply, text};
use super::secured::ClientTls;
use super::stream::Stream;

/// The limits that the client asks for: one channel, and no heartbeats.
const WANTED: Tuning = Tuning { channel_max: 0, frame_max: 0, heartbeat: 0 };
/// The largest frame where the broker has no limit.
const FRAME_SIZE_MAX: usize = 128 * 1024;
/// The capabilities of this client.
const CAPABILITIES: [&str; 6] = [
    "authentication_failure_close",
    "basic.nack",
    "connection.blocked",
    "consumer_cancel_notify",
    "exchange_exchange_bindings",
    "publisher_confirms",
];

/// Connects, logs in and opens the channel. `name` is the connection's name in the broker's lists.
///
/// # Errors
///
/// The broker cannot be reached in time, refuses the login, or speaks another protocol.
pub fn open(
    address: &Address,
    tls: Option<&ClientTls>,
    name: &str,
    timeout: Duration,
) -> Result<Connection, ClientError> {
    let deadline = Instant::now() + timeout;
    let stream = Stream::connect(&address.place, tls.map(|tls| &tls.client), deadline)?;
    let shows_certificate = tls.is_some_and(|tls| tls.shows_certificate);
    let connection = Connection::new(stream);
    let mut login = Login { connection, address, shows_certificate, deadline, timeout };
    login.negotiate(name).map_err(|error| login.explain(error))?;
    Ok(login.connection)
}

struct Login<'a> {
    connection: Connection,
    address: &'a Address,
    shows_certificate: bool,
    deadline: Instant,
    timeout: Duration,
}

impl Login<'_> {
    fn negotiate(&mut self, name: &str) -> Result<(), ClientError> {
        self.connection.output().extend_from_slice(&PROTOCOL_HEADER);
        let start = self.reply("the protocol header")?;
        let Method::ConnectionStart(start) = start.method()? else { return Err(unexpected(&start)) };
        self.start_ok(&start, name)?;
        let tune = self.reply(connection::StartOk::NAME)?;
        let Method::ConnectionTune(tune) = tune.method()? else { return Err(unexpected(&tune)) };
        let tuning = Tuning { heartbeat: 0, ..WANTED.answer(&tune) };
        tuning.tune_ok().encode(0, self.connection.output());
        self.connection.frame_size_max = match tuning.frame_max {
            0 => FRAME_SIZE_MAX,
            size => (size as usize).max(FRAME_SIZE_MIN),
        };
        let open = connection::Open { virtual_host: self.address.virtual_host.as_bytes() };
        open.encode(0, self.connection.output());
        let opened = self.reply(connection::Open::NAME)?;
        let Method::ConnectionOpenOk(_) = opened.method()? else { return Err(unexpected(&opened)) };
        channel::Open {}.encode(CHANNEL, self.connection.output());
        let opened = self.reply(channel::Open::NAME)?;
        let Method::ChannelOpenOk(_) = opened.method()? else { return Err(unexpected(&opened)) };
        Ok(())
    }

    fn start_ok(&mut self, start: &connection::Start<'_>, name: &str) -> Result<(), ClientError> {
        let offered = || start.mechanisms.split(|&byte| byte == b' ').filter_map(Mechanism::from_name);
        let Address { user, password, .. } = self.address;
        let by_certificate = self.shows_certificate && !self.address.has_user;
        let first = if by_certificate { Mechanism::External } else { Mechanism::Plain };
        let preference = [first, Mechanism::Plain, Mechanism::Amqplain].into_iter();
        let Some(mechanism) = preference.into_iter().find(|wanted| offered().any(|found| found == *wanted))
        else {
            return Err(ClientError::Mechanism(text(start.mechanisms)));
        };
        let credentials = Credentials { user: user.as_bytes(), password: password.as_bytes() };
        let mut properties = FieldTable::new();
        properties.insert("product", "hairstreak");
        properties.insert("version", env!("CARGO_PKG_VERSION"));
        properties.insert("connection_name", name);
        properties
            .insert("capabilities", FieldTable::from_iter(CAPABILITIES.map(|capability| (capability, true))));
        let start_ok = connection::StartOk {
            client_properties: properties,
            mechanism: mechanism.name().as_bytes(),
            response: &mechanism.encode(credentials),
            locale: b"en_US",
        };
        start_ok.encode(0, self.connection.output());
        Ok(())
    }

    fn reply(&mut self, method: &'static str) -> Result<Reply, ClientError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.connection.reply(method, left).map_err(|error| match error {
            ClientError::Silence { method, .. } => {
                ClientError::Silence { method, seconds: self.timeout.as_secs() }
            }
            // Some brokers refuse unknown users in this way.
            ClientError::Ended if method != "the protocol header" => ClientError::Login,
            error => error,
        })
    }

    /// Explains an error: a server of another protocol sends other bytes, or nothing.
    fn explain(&self, error: ClientError) -> ClientError {
        match error {
            ClientError::Frame(_) | ClientError::Unexpected(_) | ClientError::Ended => {
                ClientError::Protocol(self.address.place.to_string())
            }
            // In TLS 1.3 a server refuses a certificate when the client's side of the handshake is over.
            ClientError::Broken(error) if self.address.tls.is_some() => {
                ClientError::Tls { place: self.address.place.to_string(), error }
            }
            error => error,
        }
    }
}

fn unexpected(reply: &Reply) -> ClientError {
    ClientError::Unexpected(reply.method().map_or("an unknown method", |method| method.name()))
}
