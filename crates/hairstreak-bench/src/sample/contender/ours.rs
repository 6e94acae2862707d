//! Hairstreak's sockets, as an application uses them: default options, a context per thread, plain calls.

use std::time::Duration;

use anyhow::Result;
use hairstreak_socket::pipeline::{PullPattern, PushPattern};
use hairstreak_socket::pubsub::{PubPattern, SubPattern};
use hairstreak_socket::reqrep::DealerPattern;
use hairstreak_socket::security::{
    AccessTable, Authenticator, KeyPair, Mechanisms, PublicKey, SecretKey, Security, Server,
};
use hairstreak_socket::{Context, Message, Options, Overflow, Pattern, Pub, Receives, Router, Sends, Socket};

use super::contract::{
    Component, Contender, Echoing, Opening, Receiving, Sending, abstract_name, failed, wrong_size,
};
use super::keys;
use crate::sample::{Calls, CaseName, Transport};

/// The time that a waiting thread spins before it sleeps, if spinning is asked for.
const SPIN_US: u64 = 100;
/// Bodies by reference that may be under way, as libzmq allows by default at either end: it has no mark by bytes, and
/// ours would stop both ends every 8 MiB.
const HANDLE_COUNT: usize = 1000;
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// Only the settings: the threads of a process share no state.
#[derive(Clone)]
pub struct Ours {
    transport: Transport,
    options: Options,
    is_sealed: bool,
}

impl Contender for Ours {
    type Component = OurComponent;

    fn open(opening: Opening<'_>) -> Result<Self> {
        let spin_us = if opening.calls == Calls::Spin { SPIN_US } else { 0 };
        Ok(Self {
            transport: opening.transport,
            options: Options { spin_us, ..marks(&opening) },
            is_sealed: opening.case == CaseName::Curve,
        })
    }

    fn component(&self) -> Result<OurComponent> {
        Ok(OurComponent { context: Context::new(), settings: self.clone() })
    }
}

fn marks(opening: &Opening<'_>) -> Options {
    let default = Options::default();
    if opening.calls != Calls::Handle {
        return default;
    }
    let (count, bytes) = (HANDLE_COUNT, HANDLE_COUNT * opening.size);
    Options { send_count_max: count, send_bytes_max: bytes, ..default }
}

/// The context of one thread.
pub struct OurComponent {
    context: Context,
    settings: Ours,
}

impl OurComponent {
    fn endpoint(&self, number: usize) -> String {
        match self.settings.transport {
            Transport::Tcp => "tcp://127.0.0.1:*".to_owned(),
            Transport::Ipc => format!("ipc://@{}", abstract_name(number)),
            Transport::Shm => format!("shm://{}", abstract_name(number)),
            Transport::Inproc => format!("inproc://{}", abstract_name(number)),
        }
    }

    fn options(&self) -> Options {
        self.settings.options.clone()
    }

    fn open<P: Pattern>(&self, options: Options) -> Result<Socket<P>> {
        Socket::with_options(&self.context, options).map_err(failed("Socket::with_options"))
    }

    /// The end that binds is the server of a mechanism.
    fn bind<P: Pattern>(&self, number: usize) -> Result<(Socket<P>, String)> {
        let security = if self.settings.is_sealed { server_security()? } else { Security::Null };
        let socket = self.open(Options { security, ..self.options() })?;
        let endpoint = socket.bind(&self.endpoint(number)).map_err(failed("Socket::bind"))?;
        Ok((socket, endpoint.to_string()))
    }

    fn connect<P: Pattern>(&self, endpoint: &str, options: Options) -> Result<Socket<P>> {
        let security = if self.settings.is_sealed { client_security()? } else { Security::Null };
        let socket = self.open(Options { security, ..options })?;
        socket.connect(endpoint).map_err(failed("Socket::connect"))?;
        Ok(socket)
    }
}

fn server_security() -> Result<Security> {
    let secret: SecretKey = keys::SERVER_SECRET.parse().map_err(failed("SecretKey::from_str"))?;
    let client: PublicKey = keys::CLIENT_PUBLIC.parse().map_err(failed("PublicKey::from_str"))?;
    let mechanisms = Mechanisms { curve: Some(KeyPair::new(secret)), ..Mechanisms::default() };
    let table = AccessTable::new().allow_key(client, "client");
    Ok(Security::Server(Server::new(mechanisms, Authenticator::Table(table))))
}

fn client_security() -> Result<Security> {
    let secret: SecretKey = keys::CLIENT_SECRET.parse().map_err(failed("SecretKey::from_str"))?;
    let server_key = keys::SERVER_PUBLIC.parse().map_err(failed("PublicKey::from_str"))?;
    Ok(Security::Curve { keys: KeyPair::new(secret), server_key })
}

impl Component for OurComponent {
    type Sender = OurSocket<PushPattern>;
    type Receiver = OurSocket<PullPattern>;
    type Subscriber = OurSocket<SubPattern>;
    type Publisher = OurSocket<PubPattern>;
    type Client = OurSocket<DealerPattern>;
    type Server = OurServer;

    fn bind_receiver(&self, number: usize) -> Result<(Self::Receiver, String)> {
        let (pull, endpoint) = self.bind(number)?;
        Ok((OurSocket::new(pull), endpoint))
    }

    fn bind_sender(&self, number: usize) -> Result<(Self::Sender, String)> {
        let (push, endpoint) = self.bind(number)?;
        Ok((OurSocket::new(push), endpoint))
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<Self::Receiver> {
        Ok(OurSocket::new(self.connect(endpoint, self.options())?))
    }

    fn connect_sender(&self, endpoint: &str) -> Result<Self::Sender> {
        Ok(OurSocket::new(self.connect(endpoint, self.options())?))
    }

    fn bind_subscriber(&self, number: usize) -> Result<(Self::Subscriber, String)> {
        let (subscriber, endpoint) = self.bind::<SubPattern>(number)?;
        subscriber.subscribe("").map_err(failed("Sub::subscribe"))?;
        Ok((OurSocket::new(subscriber), endpoint))
    }

    fn connect_publisher(&self, endpoints: &[String]) -> Result<Self::Publisher> {
        let publisher: Pub = self.open(Options { overflow: Some(Overflow::Block), ..self.options() })?;
        for endpoint in endpoints {
            publisher.connect(endpoint).map_err(failed("Pub::connect"))?;
        }
        match publisher.wait_for_subscribers(endpoints.len(), READY_TIMEOUT) {
            true => Ok(OurSocket::new(publisher)),
            false => Err(failed("Pub::wait_for_subscribers")("not all in time")),
        }
    }

    fn bind_client(&self, number: usize) -> Result<(Self::Client, String)> {
        let (dealer, endpoint) = self.bind(number)?;
        Ok((OurSocket::new(dealer), endpoint))
    }

    fn connect_server(&self, endpoint: &str) -> Result<OurServer> {
        let options = Options { router_mandatory: true, ..self.options() };
        let router = self.connect(endpoint, options)?;
        Ok(OurServer { router, message: Message::new(), messages: Vec::new() })
    }
}

fn wait_for_peer<P: Pattern>(socket: &Socket<P>) -> Result<()> {
    match socket.wait_for_peers(1, READY_TIMEOUT) {
        true => Ok(()),
        false => Err(failed("Socket::wait_for_peers")("no peer in time")),
    }
}

/// A socket and the places its messages go to.
pub struct OurSocket<P: Pattern> {
    socket: Socket<P>,
    message: Message,
    messages: Vec<Message>,
}

impl<P: Pattern> OurSocket<P> {
    fn new(socket: Socket<P>) -> Self {
        Self { socket, message: Message::new(), messages: Vec::new() }
    }
}

impl<P: Sends> Sending for OurSocket<P> {
    fn wait_ready(&mut self) -> Result<()> {
        wait_for_peer(&self.socket)
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.socket.send(body).map_err(failed("Socket::send"))
    }

    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<()> {
        let message = Message::from(body);
        (0..count).try_for_each(|_| self.socket.send(&message)).map_err(failed("Socket::send"))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        let sent = self.socket.send_all(std::iter::repeat_n(body, count));
        all_sent(sent.map_err(failed("Socket::send_all"))?, count)
    }

    /// Nothing to do: a socket flushes before its thread sleeps, and within microseconds anyway.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<P: Receives> Receiving for OurSocket<P> {
    fn wait_ready(&mut self) -> Result<()> {
        wait_for_peer(&self.socket)
    }

    #[inline]
    fn receive(&mut self) -> Result<usize> {
        match self.socket.recv_into(&mut self.message) {
            Ok(()) => Ok(self.message.size()),
            Err(error) => Err(failed("Socket::recv_into")(error)),
        }
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let count = self.socket.recv_many(&mut self.messages, max).map_err(failed("Socket::recv_many"))?;
        match self.messages.iter().find(|message| message.size() != size) {
            None => Ok(count),
            Some(message) => Err(wrong_size(message.size(), size)),
        }
    }
}

/// A ROUTER and the places its messages go to.
pub struct OurServer {
    router: Router,
    message: Message,
    messages: Vec<Message>,
}

impl Echoing for OurServer {
    fn wait_ready(&mut self) -> Result<()> {
        wait_for_peer(&self.router)
    }

    #[inline]
    fn echo(&mut self) -> Result<usize> {
        self.router.recv_into(&mut self.message).map_err(failed("Router::recv_into"))?;
        self.router.send(&self.message).map_err(failed("Router::send"))?;
        Ok(self.message.body().len())
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let count = self.router.recv_many(&mut self.messages, max).map_err(failed("Router::recv_many"))?;
        if let Some(message) = self.messages.iter().find(|message| message.body().len() != size) {
            return Err(wrong_size(message.body().len(), size));
        }
        all_sent(self.router.send_all(&self.messages).map_err(failed("Router::send_all"))?, count)?;
        Ok(count)
    }
}

fn all_sent(sent: usize, count: usize) -> Result<()> {
    match sent == count {
        true => Ok(()),
        false => Err(failed("Socket::send_all")(format!("{sent} of {count} messages sent"))),
    }
}
