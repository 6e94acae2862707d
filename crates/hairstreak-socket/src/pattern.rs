//! What a pattern is: a ZMTP socket type, which ways messages go, and its rules, all in one table.
//!
//! To add a socket type: a marker in its pattern's folder that implements [`Pattern`] and the
//! directions it has; its `RULES` beside it; a line in [`rules`].

use hairstreak_base::Message;
use hairstreak_wire::zmtp::{RemotePeer, SocketType};

use crate::engine::{Engine, Received, Sent, ShortIn, ShortOut, State};
use crate::options::{Options, Overflow};
use crate::outgoing::Outgoing;
use crate::session::SessionError;
use crate::{pair, pipeline, pubsub, reqrep, stream};

/// A socket pattern's end.
pub trait Pattern: Send + Sync + 'static {
    /// The name it has on the wire.
    const SOCKET_TYPE: SocketType;
}

/// A pattern that sends.
pub trait Sends: Pattern {}

/// A pattern that receives.
pub trait Receives: Pattern {}

/// What a socket does with what its peers send, commands apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Incoming {
    /// Nothing may come.
    Nothing,
    /// Messages wait until the application receives.
    Messages,
    /// Messages (subscriptions) go to this function as they come, whatever the application does.
    AtOnce(Take),
}

/// Takes a message of a link. An error ends it.
pub(crate) type Take = fn(&mut State, usize, &Message) -> Result<(), SessionError>;

/// How sockets of one type behave. The engine asks here and nowhere else.
pub(crate) struct Rules {
    /// Messages go out on its links, be it subscriptions.
    pub sends: bool,
    /// Its peers speak no ZMTP.
    pub is_plain: bool,
    pub incoming: Incoming,
    /// A short message may go to a link as it is.
    pub short_out: ShortOut,
    /// A short message may go to the application as it came.
    pub short_in: ShortIn,
    /// What happens to a message without room when the options do not say.
    pub overflow: fn(&Options) -> Overflow,
    /// The application sends. The socket is open.
    pub send: fn(&mut State, &Engine, usize, &Outgoing<'_>) -> Sent,
    /// The application wants a message put there.
    pub receive: fn(&mut State, &Engine, usize, &mut Message) -> Received,
    /// Whether a send would be accepted, dropped or refused at once.
    pub is_writable: fn(&mut State, usize) -> bool,
    /// Whether the socket wants another peer now.
    pub accepts: fn(&State, usize) -> bool,
    /// A link (by index) has done its handshake with this peer. False: it is not wanted.
    pub link_ready: fn(&mut State, &Engine, usize, &RemotePeer) -> bool,
    /// A link's connection is over; `true`: so are its messages.
    pub link_ended: fn(&mut State, usize, bool),
}

impl Rules {
    /// The rules of a pattern that does nothing, to be overridden.
    pub const NONE: Rules = Rules {
        sends: false,
        is_plain: false,
        incoming: Incoming::Nothing,
        short_out: ShortOut::No,
        short_in: ShortIn::No,
        overflow: |_| Overflow::Block,
        send: |_, _, _, _| Sent::Closed,
        receive: |_, _, _, _| Received::Nothing,
        is_writable: |_, _| false,
        accepts: |_, _| true,
        link_ready: |_, _, _, _| true,
        link_ended: |_, _, _| {},
    };
}

pub(crate) fn rules(socket_type: SocketType) -> &'static Rules {
    match socket_type {
        SocketType::Pair => &pair::RULES,
        SocketType::Req => &reqrep::REQ_RULES,
        SocketType::Rep => &reqrep::REP_RULES,
        SocketType::Dealer => &reqrep::DEALER_RULES,
        SocketType::Router => &reqrep::ROUTER_RULES,
        SocketType::Pull => &pipeline::PULL_RULES,
        SocketType::Push => &pipeline::PUSH_RULES,
        SocketType::Pub => &pubsub::PUB_RULES,
        SocketType::Sub => &pubsub::SUB_RULES,
        SocketType::XPub => &pubsub::XPUB_RULES,
        SocketType::XSub => &pubsub::XSUB_RULES,
        SocketType::Stream => &stream::RULES,
    }
}
