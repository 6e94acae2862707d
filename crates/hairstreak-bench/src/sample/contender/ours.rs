//! Hairstreak's sockets, as an application uses them: default options, a context per thread, plain calls.

use std::any::Any;
use std::time::Duration;

use anyhow::{Result, ensure};
use hairstreak_socket::security::{
    AccessTable, Authenticator, KeyPair, Mechanisms, PublicKey, SecretKey, Security, Server,
};
use hairstreak_socket::{Context, Message, Options, Overflow, Pattern, Pub, Receives, Sends, Socket, Sub};

use super::contract::{
    Contender, Echoing, End, Opens, PubPattern, Receiving, RouterPattern, Sending, check_size, endpoint,
    failed,
};
use super::keys;
use crate::sample::{Calls, Subject};

/// The time that a waiting thread spins before it sleeps, if spinning is asked for.
const SPIN_US: u64 = 100;
/// Bodies by reference that may be under way, as libzmq allows by default at either end: it has no mark by bytes, and
/// ours would stop both ends every 8 MiB.
const HANDLE_COUNT: usize = 1000;
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// The subject, and a context in which each thread has an engine of its own.
pub struct Ours {
    context: Context,
    subject: Subject,
}

impl Contender for Ours {
    fn open(subject: &Subject) -> Result<Self> {
        Ok(Self { context: Context::new(), subject: subject.clone() })
    }
}

impl Ours {
    fn end<P: Pattern>(&self, security: fn() -> Result<Security>) -> Result<OurSocket<P>> {
        let mut options = Options {
            spin_us: if self.subject.calls == Calls::Spin { SPIN_US } else { 0 },
            security: if self.subject.is_sealed() { security()? } else { Security::Null },
            overflow: (P::SOCKET_TYPE == PubPattern::SOCKET_TYPE).then_some(Overflow::Block),
            router_mandatory: P::SOCKET_TYPE == RouterPattern::SOCKET_TYPE,
            ..Options::default()
        };
        if self.subject.calls == Calls::Handle {
            options.send_count_max = HANDLE_COUNT;
            options.send_bytes_max = HANDLE_COUNT * self.subject.size;
        }
        let socket = Socket::with_options(&self.context, options).map_err(failed("Socket::with_options"))?;
        Ok(OurSocket { socket, message: Message::new(), messages: Vec::new() })
    }
}

impl<P: Pattern> Opens<P> for Ours {
    type End = OurSocket<P>;

    /// The end that binds is the server of a mechanism.
    fn bind(&self, number: usize) -> Result<(OurSocket<P>, String)> {
        let end = self.end::<P>(server_security)?;
        let bound =
            end.socket.bind(&endpoint(self.subject.transport, number)).map_err(failed("Socket::bind"))?;
        if let Some(subscriber) = (&end.socket as &dyn Any).downcast_ref::<Sub>() {
            subscriber.subscribe("").map_err(failed("Sub::subscribe"))?;
        }
        Ok((end, bound.to_string()))
    }

    fn connect(&self, endpoints: &[String]) -> Result<OurSocket<P>> {
        let end = self.end::<P>(client_security)?;
        let connected = endpoints.iter().try_for_each(|endpoint| end.socket.connect(endpoint));
        connected.map_err(failed("Socket::connect"))?;
        if let Some(publisher) = (&end.socket as &dyn Any).downcast_ref::<Pub>() {
            let have_all = publisher.wait_for_subscribers(endpoints.len(), READY_TIMEOUT);
            ensure!(have_all, "Pub::wait_for_subscribers failed: not all in time");
        }
        Ok(end)
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

/// A socket and the places its messages go to.
pub struct OurSocket<P: Pattern> {
    socket: Socket<P>,
    message: Message,
    messages: Vec<Message>,
}

/// There is nothing to flush: a socket flushes before its thread sleeps, and within microseconds anyway.
impl<P: Pattern> End for OurSocket<P> {
    fn wait_ready(&mut self) -> Result<()> {
        let has_peer = self.socket.wait_for_peers(1, READY_TIMEOUT);
        ensure!(has_peer, "Socket::wait_for_peers failed: no peer in time");
        Ok(())
    }
}

impl<P: Sends> Sending for OurSocket<P> {
    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.socket.send(body).map_err(failed("Socket::send"))
    }

    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<()> {
        let message = Message::from(body);
        (0..count).try_for_each(|_| self.socket.send(&message)).map_err(failed("Socket::send"))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        let sent =
            self.socket.send_all(std::iter::repeat_n(body, count)).map_err(failed("Socket::send_all"))?;
        ensure!(sent == count, "Socket::send_all failed: {sent} of {count} messages sent");
        Ok(())
    }
}

impl<P: Receives> Receiving for OurSocket<P> {
    #[inline]
    fn receive(&mut self) -> Result<usize> {
        self.socket.recv_into(&mut self.message).map_err(failed("Socket::recv_into"))?;
        Ok(self.message.size())
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let count = self.socket.recv_many(&mut self.messages, max).map_err(failed("Socket::recv_many"))?;
        self.messages.iter().try_for_each(|message| check_size(message.size(), size))?;
        Ok(count)
    }
}

impl Echoing for OurSocket<RouterPattern> {
    #[inline]
    fn echo(&mut self) -> Result<usize> {
        self.socket.recv_into(&mut self.message).map_err(failed("Router::recv_into"))?;
        self.socket.send(&self.message).map_err(failed("Router::send"))?;
        Ok(self.message.body().len())
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let count = self.socket.recv_many(&mut self.messages, max).map_err(failed("Router::recv_many"))?;
        self.messages.iter().try_for_each(|message| check_size(message.body().len(), size))?;
        let sent = self.socket.send_all(&self.messages).map_err(failed("Router::send_all"))?;
        ensure!(sent == count, "Router::send_all failed: {sent} of {count} messages sent");
        Ok(count)
    }
}
