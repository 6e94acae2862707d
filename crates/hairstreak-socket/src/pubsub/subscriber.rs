//! SUB and XSUB: what they subscribed to, of all connected publishers, fairly.
//!
//! Subscriptions are counted: what was subscribed to twice has to be unsubscribed from twice. The first
//! subscription to a prefix and the last cancellation go to every publisher (so they mean the same
//! to one that counts and to one that does not); a publisher that comes, or comes back, is told all.
//!
//! A SUB drops and counts what it did not subscribe to. An XSUB takes everything, and subscribes by
//! sending: 1 and a prefix, 0 and a prefix; what else it sends goes to every publisher.

use hairstreak_base::Message;
use hairstreak_wire::zmtp::curve::MESSAGE_OVERHEAD;
use hairstreak_wire::zmtp::{RemotePeer, SocketType};

use super::index::{Added, Index, Removed, SubscriptionError};
use super::publisher::limits;
use crate::engine::{Engine, Received, Sent, ShortIn, State, UNEXPECTED_MAX, Unread};
use crate::errors::SubscribeError;
use crate::outgoing::Outgoing;
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::socket::Socket;

/// The subscribing end.
pub type Sub = Socket<SubPattern>;

/// A subscribing end that subscribes by sending.
pub type XSub = Socket<XSubPattern>;

/// Marks a [`Sub`].
#[derive(Debug)]
pub struct SubPattern;

/// Marks an [`XSub`].
#[derive(Debug)]
pub struct XSubPattern;

impl Pattern for SubPattern {
    const SOCKET_TYPE: SocketType = SocketType::Sub;
}

impl Pattern for XSubPattern {
    const SOCKET_TYPE: SocketType = SocketType::XSub;
}

impl Receives for SubPattern {}
impl Receives for XSubPattern {}
impl Sends for XSubPattern {}

/// A pattern that subscribes.
pub trait Subscribes: Receives {}
impl Subscribes for SubPattern {}
impl Subscribes for XSubPattern {}

pub(crate) const SUB_RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    short_in: ShortIn::Filtered,
    receive,
    link_ready,
    ..Rules::NONE
};

pub(crate) const XSUB_RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    short_in: ShortIn::AsItCame,
    send,
    is_writable: State::is_writable_to_all,
    receive: State::receive_as_it_came,
    link_ready,
    ..Rules::NONE
};

/// The socket itself, as the only subscriber of its index.
const OURSELVES: usize = 0;

/// Bytes that a subscription takes beside its prefix, on its way to a publisher, sealed or not.
const OVERHEAD_SIZE: usize = 20 + MESSAGE_OVERHEAD;

/// What a subscriber keeps.
#[derive(Debug, Default)]
pub(crate) struct Subscriber {
    index: Index,
}

impl Subscriber {
    #[inline]
    pub fn wants(&self, message: &Message) -> bool {
        self.index.is_wanted(message.frame(0).unwrap_or_default())
    }

    /// Messages and bytes that all subscriptions take on their way to a publisher, at most.
    pub fn sizes(&self) -> (usize, usize) {
        let (count, bytes) = (self.index.prefix_count(OURSELVES), self.index.prefix_bytes(OURSELVES));
        (count, bytes + count * OVERHEAD_SIZE)
    }
}

fn subscribe(
    state: &mut State,
    engine: &Engine,
    socket: usize,
    prefix: &[u8],
) -> Result<(), SubscriptionError> {
    let this = &mut state.sockets[socket];
    if this.subscriber.index.subscribe(OURSELVES, prefix, &limits(&this.options))? == Added::First {
        state.send_subscription(engine, socket, true, prefix);
    }
    Ok(())
}

fn cancel(state: &mut State, engine: &Engine, socket: usize, prefix: &[u8]) -> Removed {
    let removed = state.sockets[socket].subscriber.index.cancel(OURSELVES, prefix);
    if removed == Removed::Last {
        state.send_subscription(engine, socket, false, prefix);
    }
    removed
}

/// XSUB: a subscription, or a message for every publisher.
fn send(state: &mut State, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
    match (message.frame_count(), message.first_frame().split_first()) {
        (1, Some((1, prefix))) => match subscribe(state, engine, socket, prefix) {
            Ok(()) => state.count_sent(socket),
            Err(error) => Sent::Refused(error),
        },
        (1, Some((0, prefix))) => {
            cancel(state, engine, socket, prefix);
            state.count_sent(socket)
        }
        _ => {
            let links = state.sockets[socket].links.clone();
            state.send_copies(engine, socket, &links, message)
        }
    }
}

/// SUB: the next message that was subscribed to.
fn receive(state: &mut State, engine: &Engine, socket: usize, into: &mut Message) -> Received {
    for _ in 0..UNEXPECTED_MAX {
        let Some(link) = state.receive_in_turn(engine, socket, into) else { return Received::Nothing };
        if state.sockets[socket].subscriber.wants(into) {
            return Received::Message;
        }
        state.drop_unexpected(socket, link);
    }
    state.come_back_to(Unread::Socket(socket));
    Received::Nothing
}

/// A publisher is told everything.
fn link_ready(state: &mut State, engine: &Engine, link: usize, _peer: &RemotePeer) -> bool {
    let socket = state.links[link].socket;
    let prefixes: Vec<_> = state.sockets[socket].subscriber.index.prefixes().collect();
    for prefix in prefixes {
        state.send_subscription_to(engine, link, true, &prefix);
    }
    true
}

impl<P: Subscribes> Socket<P> {
    /// Subscribes to messages that begin with `prefix`, of all publishers, those to come included; once
    /// more if it is subscribed to already.
    pub fn subscribe(&self, prefix: impl AsRef<[u8]>) -> Result<(), SubscribeError> {
        let handle = &*self.handle;
        if handle.is_forked() {
            return Err(SubscribeError::Forked);
        }
        let mut state = handle.engine.lock();
        match state.sockets.get(handle.index) {
            Some(socket) if !socket.closed => {
                subscribe(&mut state, &handle.engine, handle.index, prefix.as_ref())?;
                handle.engine.after_call(state, None);
                Ok(())
            }
            _ => Err(SubscribeError::Closed),
        }
    }

    /// Takes one subscription back. Returns whether there was one.
    pub fn unsubscribe(&self, prefix: impl AsRef<[u8]>) -> Result<bool, SubscribeError> {
        let handle = &*self.handle;
        if handle.is_forked() {
            return Err(SubscribeError::Forked);
        }
        let mut state = handle.engine.lock();
        match state.sockets.get(handle.index) {
            Some(socket) if !socket.closed => {
                let removed = cancel(&mut state, &handle.engine, handle.index, prefix.as_ref());
                handle.engine.after_call(state, None);
                Ok(removed != Removed::Absent)
            }
            _ => Err(SubscribeError::Closed),
        }
    }
}
