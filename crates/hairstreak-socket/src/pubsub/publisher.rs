//! PUB and XPUB: each message to every peer that wants it. A peer without room misses it, and the loss
//! is counted, unless another [`Overflow`](crate::Overflow) is asked for.
//!
//! What peers send, their subscriptions, takes effect as it comes, whatever the application does. An
//! XPUB shows it the subscriptions too: the first to a prefix and the last cancellation of it, or every
//! subscription (`xpub_verbose`); and other messages that XSUBs send upwards. While more of these wait
//! than `receive_count_max`, what its peers send is only read ahead, within the same mark for each: what they have
//! subscribed to since has no effect yet, and never will if they go. One that has gone is there, and counts, only if it
//! has left other messages, until the application has received; it gets nothing any more.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hairstreak_base::Message;
use hairstreak_wire::zmtp::SocketType;

use super::index::{Added, Index, Limits, Removed};
use crate::engine::{Engine, Received, Sent, State};
use crate::options::{Options, Overflow};
use crate::outgoing::Outgoing;
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::session::SessionError;
use crate::socket::Socket;

/// The publishing end.
pub type Pub = Socket<PubPattern>;

/// A publishing end that receives its subscriptions.
pub type XPub = Socket<XPubPattern>;

/// Marks a [`Pub`].
#[derive(Debug)]
pub struct PubPattern;

/// Marks an [`XPub`].
#[derive(Debug)]
pub struct XPubPattern;

impl Pattern for PubPattern {
    const SOCKET_TYPE: SocketType = SocketType::Pub;
}

impl Pattern for XPubPattern {
    const SOCKET_TYPE: SocketType = SocketType::XPub;
}

impl Sends for PubPattern {}
impl Sends for XPubPattern {}
impl Receives for XPubPattern {}

/// A pattern that has subscribers.
pub trait Publishes: Sends {}
impl Publishes for PubPattern {}
impl Publishes for XPubPattern {}

pub(crate) const PUB_RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::AtOnce(take),
    overflow: |_| Overflow::DropNewest,
    send,
    is_writable: State::is_writable_to_all,
    link_ended,
    ..Rules::NONE
};

pub(crate) const XPUB_RULES: Rules = Rules { receive, ..PUB_RULES };

/// What a publisher keeps.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    /// Who wants what, by link.
    pub index: Index,
    /// Those who want the message at hand; kept for its memory.
    wanted_by: Vec<usize>,
    /// XPUB: what the application has not received yet.
    untold: VecDeque<Message>,
    /// What peers send has to wait because of that.
    pub stopped: bool,
}

pub(crate) fn limits(options: &Options) -> Limits {
    Limits {
        count_max: options.subscription_count_max,
        size_max: options.subscription_size_max,
        bytes_max: options.subscription_bytes_max,
    }
}

fn send(state: &mut State, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
    let publisher = &mut state.sockets[socket].publisher;
    let mut wanted_by = std::mem::take(&mut publisher.wanted_by);
    wanted_by.clear();
    publisher.index.find(message.first_frame(), &mut wanted_by);
    let sent = state.send_copies(engine, socket, &wanted_by, message);
    state.sockets[socket].publisher.wanted_by = wanted_by;
    sent
}

fn receive(state: &mut State, engine: &Engine, socket: usize, into: &mut Message) -> Received {
    let this = &mut state.sockets[socket];
    let Some(message) = this.publisher.untold.pop_front() else { return Received::Nothing };
    *into = message;
    this.received += 1;
    if this.publisher.stopped && this.publisher.untold.len() <= this.options.receive_count_max / 2 {
        this.publisher.stopped = false;
        // What it held back goes on.
        for link in state.sockets[socket].links.clone() {
            if state.links.get(link).is_some_and(|link| link.socket == socket) {
                state.take_in(engine, link);
            }
        }
    }
    Received::Message
}

/// A message of a peer.
fn take(state: &mut State, link: usize, message: &Message) -> Result<(), SessionError> {
    let socket = state.links[link].socket;
    let this = &mut state.sockets[socket];
    let index = &mut this.publisher.index;
    let is_news = match (message.frame_count(), message.body().split_first()) {
        (1, Some((1, prefix))) => {
            let added = index.subscribe(link, prefix, &limits(&this.options))?;
            added == Added::First || this.options.xpub_verbose
        }
        (1, Some((0, prefix))) => index.cancel(link, prefix) == Removed::Last,
        _ if this.socket_type == SocketType::XPub => true,
        _ => {
            this.drops.unexpected += 1;
            state.links[link].drops.unexpected += 1;
            false
        }
    };
    if is_news && this.socket_type == SocketType::XPub {
        this.publisher.tell(message.clone(), this.options.receive_count_max);
    }
    state.notify(socket);
    Ok(())
}

fn link_ended(state: &mut State, link: usize, _gone: bool) {
    let this = &mut state.sockets[state.links[link].socket];
    let (publisher, tells) = (&mut this.publisher, this.socket_type == SocketType::XPub);
    let mut unwanted = Vec::new();
    publisher.index.remove(link, |prefix| {
        if tells {
            unwanted.push(prefix)
        }
    });
    for prefix in unwanted {
        publisher.tell(Message::from([&[0], &prefix[..]].concat()), this.options.receive_count_max);
    }
}

/// Whether a peer's message subscribes or cancels: other messages are the application's.
pub(crate) fn is_subscription(message: &Message) -> bool {
    message.frame_count() == 1 && matches!(message.body().first(), Some(0 | 1))
}

impl Publisher {
    fn tell(&mut self, message: Message, count_max: usize) {
        self.untold.push_back(message);
        self.stopped |= self.untold.len() >= count_max;
    }
}

impl<P: Publishes> Socket<P> {
    /// Waits until at least `count` peers have subscribed to anything, or the socket is closed. Returns
    /// whether they have: what is sent from then on reaches them.
    pub fn wait_for_subscribers(&self, count: usize, timeout: Duration) -> bool {
        self.wait_for_index(timeout, |index| index.subscriber_count() >= count)
    }

    /// Waits until at least `count` peers have a subscription to messages that begin with `start`, or the
    /// socket is closed. Returns whether they have.
    pub fn wait_for_subscribers_to(&self, start: impl AsRef<[u8]>, count: usize, timeout: Duration) -> bool {
        let mut found = Vec::new();
        self.wait_for_index(timeout, |index| {
            found.clear();
            index.find(start.as_ref(), &mut found);
            found.len() >= count
        })
    }

    fn wait_for_index(&self, timeout: Duration, mut enough: impl FnMut(&mut Index) -> bool) -> bool {
        let handle = &*self.handle;
        if handle.is_forked() {
            return false;
        }
        let deadline = Instant::now().checked_add(timeout);
        let mut state = handle.engine.lock();
        // Rings have no event.
        state.look_at_rings(&handle.engine);
        let found = handle.engine.wait(state, handle.index, false, deadline, |state| {
            let socket = state.sockets.get_mut(handle.index)?;
            enough(&mut socket.publisher.index).then_some(true).or(socket.closed.then_some(false))
        });
        found.unwrap_or(false)
    }
}
