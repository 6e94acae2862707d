//! The rival: the system's libzmq, used as its own performance tools use it.
//!
//! zmq_send from a buffer, zmq_msg_recv into a message used over and over (zmq_recv into a buffer was slower), all
//! options at their defaults: water marks of 1000 messages, one I/O thread, linger without end. Both ends stay open
//! until the receiver has everything, because libzmq over ipc loses messages if the sender closes earlier.

use anyhow::{Result, bail};
use hairstreak_socket::Pattern;

use super::contract::{
    Contender, DealerPattern, Opens, PubPattern, PullPattern, PushPattern, RouterPattern, SubPattern,
    endpoint,
};
use super::keys;
use super::libzmq_api::{Context, Socket, SocketType, Switch, Text};
use crate::frame::{Rival, RivalOptions, Setting};
use crate::sample::{Subject, Transport};

/// The name in reports.
pub const RIVAL_NAME: &str = "libzmq";

/// Describes a run against libzmq, or of Hairstreak alone if libzmq is left out or cannot be loaded.
pub fn setting(options: &RivalOptions) -> Setting {
    let alone = |note: String| Setting::new(Vec::new(), vec![note]);
    if options.no_rival {
        return alone(format!("{RIVAL_NAME} was left out: hairstreak is measured alone"));
    }
    match Context::new(&options.libzmq) {
        Ok(context) => Setting::new(vec![Rival { name: RIVAL_NAME, version: context.version() }], Vec::new()),
        Err(error) => alone(format!("no {RIVAL_NAME} here, hairstreak is measured alone ({error:#})")),
    }
}

/// A context, shared by the threads of a process as inproc requires.
pub struct Libzmq {
    context: Context,
    subject: Subject,
}

impl Contender for Libzmq {
    fn open(subject: &Subject) -> Result<Self> {
        Ok(Self { context: Context::new(&subject.libzmq)?, subject: subject.clone() })
    }
}

impl Libzmq {
    /// A socket that loses nothing. The PUB is an XPUB: a PUB that also receives the subscriptions.
    fn socket<P: Pattern>(&self) -> Result<Socket> {
        let (socket_type, switches): (_, &[Switch]) = match P::SOCKET_TYPE {
            PushPattern::SOCKET_TYPE => (SocketType::Push, &[]),
            PullPattern::SOCKET_TYPE => (SocketType::Pull, &[]),
            PubPattern::SOCKET_TYPE => (SocketType::XPub, &[Switch::XPubNoDrop, Switch::XPubVerbose]),
            SubPattern::SOCKET_TYPE => (SocketType::Sub, &[]),
            DealerPattern::SOCKET_TYPE => (SocketType::Dealer, &[]),
            RouterPattern::SOCKET_TYPE => (SocketType::Router, &[Switch::RouterMandatory]),
            other => bail!("no case has a {}", other.as_str()),
        };
        let socket = self.context.socket(socket_type)?;
        switches.iter().try_for_each(|&switch| socket.turn_on(switch))?;
        if P::SOCKET_TYPE == SubPattern::SOCKET_TYPE {
            socket.set_text(Text::Subscribe, "")?;
        }
        Ok(socket)
    }
}

impl<P: Pattern> Opens<P> for Libzmq {
    type End = Socket;

    fn bind(&self, number: usize) -> Result<(Socket, String)> {
        let socket = self.socket::<P>()?;
        if self.subject.is_sealed() {
            socket.turn_on(Switch::CurveServer)?;
            socket.set_text(Text::CurveSecretKey, keys::SERVER_SECRET)?;
        }
        // libzmq has no shared memory.
        let is_shared = self.subject.transport == Transport::Shm;
        let transport = if is_shared { Transport::Ipc } else { self.subject.transport };
        let endpoint = socket.bind(&endpoint(transport, number))?;
        Ok((socket, endpoint))
    }

    fn connect(&self, endpoints: &[String]) -> Result<Socket> {
        let mut socket = self.socket::<P>()?;
        if self.subject.is_sealed() {
            socket.set_text(Text::CurveServerKey, keys::SERVER_PUBLIC)?;
            socket.set_text(Text::CurvePublicKey, keys::CLIENT_PUBLIC)?;
            socket.set_text(Text::CurveSecretKey, keys::CLIENT_SECRET)?;
        }
        endpoints.iter().try_for_each(|endpoint| socket.connect(endpoint))?;
        if P::SOCKET_TYPE == PubPattern::SOCKET_TYPE {
            endpoints.iter().try_for_each(|_| socket.receive().map(drop))?;
        }
        Ok(socket)
    }
}
