//! The rival: the system's libzmq, used as its own performance tools use it.
//!
//! zmq_send from a buffer, zmq_msg_recv into a message used over and over (zmq_recv into a buffer was slower), all
//! options at their defaults: water marks of 1000 messages, one I/O thread, linger without end. Both ends stay open
//! until the receiver has everything, because libzmq over ipc loses messages if the sender closes earlier.

use anyhow::Result;

use super::contract::{Component, Contender, Echoing, Opening, Receiving, Sending, abstract_name};
use super::keys;
use super::libzmq_api::{Context, Socket, SocketType, Switch, Text};
use crate::frame::{Rival, RivalOptions, Setting};
use crate::sample::{CaseName, Transport};

/// The name in reports.
pub const RIVAL_NAME: &str = "libzmq";

/// Describes a run against libzmq, or of Hairstreak alone if libzmq is left out or cannot be loaded.
pub fn setting(options: &RivalOptions) -> Setting {
    if options.no_rival {
        let note = format!("{RIVAL_NAME} was left out: hairstreak is measured alone");
        return Setting::new(Vec::new(), vec![note]);
    }
    match Context::new(&options.libzmq) {
        Ok(context) => Setting::new(vec![Rival { name: RIVAL_NAME, version: context.version() }], Vec::new()),
        Err(error) => {
            let note = format!("no {RIVAL_NAME} here, hairstreak is measured alone ({error:#})");
            Setting::new(Vec::new(), vec![note])
        }
    }
}

/// A context, shared by the threads of a process as inproc requires.
pub struct Libzmq {
    context: Context,
    transport: Transport,
    is_sealed: bool,
}

impl Contender for Libzmq {
    type Component = LibzmqComponent;

    fn open(opening: Opening<'_>) -> Result<Self> {
        Ok(Self {
            context: Context::new(opening.libzmq)?,
            transport: opening.transport,
            is_sealed: opening.case == CaseName::Curve,
        })
    }

    fn component(&self) -> Result<LibzmqComponent> {
        Ok(LibzmqComponent {
            context: self.context.clone(),
            transport: self.transport,
            is_sealed: self.is_sealed,
        })
    }
}

/// The context as one thread sees it.
pub struct LibzmqComponent {
    context: Context,
    transport: Transport,
    is_sealed: bool,
}

impl LibzmqComponent {
    fn endpoint(&self, number: usize) -> String {
        match self.transport {
            Transport::Tcp => "tcp://127.0.0.1:*".to_owned(),
            Transport::Ipc | Transport::Shm => format!("ipc://@{}", abstract_name(number)),
            Transport::Inproc => format!("inproc://{}", abstract_name(number)),
        }
    }

    fn bind(&self, socket_type: SocketType, number: usize) -> Result<(LibzmqSocket, String)> {
        let socket = self.context.socket(socket_type)?;
        if self.is_sealed {
            socket.turn_on(Switch::CurveServer)?;
            socket.set_text(Text::CurveSecretKey, keys::SERVER_SECRET)?;
        }
        let endpoint = socket.bind(&self.endpoint(number))?;
        Ok((LibzmqSocket(socket), endpoint))
    }

    fn connect(&self, socket_type: SocketType, endpoint: &str) -> Result<LibzmqSocket> {
        let socket = self.context.socket(socket_type)?;
        if self.is_sealed {
            socket.set_text(Text::CurveServerKey, keys::SERVER_PUBLIC)?;
            socket.set_text(Text::CurvePublicKey, keys::CLIENT_PUBLIC)?;
            socket.set_text(Text::CurveSecretKey, keys::CLIENT_SECRET)?;
        }
        socket.connect(endpoint)?;
        Ok(LibzmqSocket(socket))
    }
}

impl Component for LibzmqComponent {
    type Sender = LibzmqSocket;
    type Receiver = LibzmqSocket;
    type Subscriber = LibzmqSocket;
    type Publisher = LibzmqSocket;
    type Client = LibzmqSocket;
    type Server = LibzmqSocket;

    fn bind_receiver(&self, number: usize) -> Result<(LibzmqSocket, String)> {
        self.bind(SocketType::Pull, number)
    }

    fn bind_sender(&self, number: usize) -> Result<(LibzmqSocket, String)> {
        self.bind(SocketType::Push, number)
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<LibzmqSocket> {
        self.connect(SocketType::Pull, endpoint)
    }

    fn connect_sender(&self, endpoint: &str) -> Result<LibzmqSocket> {
        self.connect(SocketType::Push, endpoint)
    }

    fn bind_subscriber(&self, number: usize) -> Result<(LibzmqSocket, String)> {
        let (subscriber, endpoint) = self.bind(SocketType::Sub, number)?;
        subscriber.0.set_text(Text::Subscribe, "")?;
        Ok((subscriber, endpoint))
    }

    /// Connects an XPUB: a PUB that also receives the subscriptions.
    fn connect_publisher(&self, endpoints: &[String]) -> Result<LibzmqSocket> {
        let socket = self.context.socket(SocketType::XPub)?;
        socket.turn_on(Switch::XPubNoDrop)?;
        socket.turn_on(Switch::XPubVerbose)?;
        let mut publisher = LibzmqSocket(socket);
        endpoints.iter().try_for_each(|endpoint| publisher.0.connect(endpoint))?;
        endpoints.iter().try_for_each(|_| publisher.0.receive().map(drop))?;
        Ok(publisher)
    }

    fn bind_client(&self, number: usize) -> Result<(LibzmqSocket, String)> {
        self.bind(SocketType::Dealer, number)
    }

    fn connect_server(&self, endpoint: &str) -> Result<LibzmqSocket> {
        let server = self.connect(SocketType::Router, endpoint)?;
        server.0.turn_on(Switch::RouterMandatory)?;
        Ok(server)
    }
}

/// A socket of any type.
pub struct LibzmqSocket(Socket);

impl Sending for LibzmqSocket {
    /// libzmq has no such call; its first send blocks until there is a peer.
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.0.send(body)
    }

    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<()> {
        self.0.send_copies(body, count)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Receiving for LibzmqSocket {
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn receive(&mut self) -> Result<usize> {
        self.0.receive()
    }
}

impl Echoing for LibzmqSocket {
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn echo(&mut self) -> Result<usize> {
        self.0.echo()
    }
}
