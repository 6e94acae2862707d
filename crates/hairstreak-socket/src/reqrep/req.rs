//! REQ: a request to one peer in turn, then its reply, and so on.
//!
//! ```text
//!          send                        reply, or its peer is lost
//!   Idle --------> Awaiting(peer) ---------------------------------> Idle
//!                    ^       | send again (req_relaxed): the late reply is dropped
//!                    +-------+
//! ```
//!
//! On the wire an empty frame stands before the body, and with `req_correlate` the request's number
//! before that. What comes from another peer, or does not answer the request, is dropped and counted.
//! When the peer is lost before it has replied, the receive fails (`RecvError::PeerLost`) instead of
//! waiting for ever, and the application may ask again.

use hairstreak_base::{Bytes, Message};
use hairstreak_wire::zmtp::SocketType;

use crate::engine::{Engine, Received, Sent, SetAside, State, UNEXPECTED_MAX, Unread};
use crate::outgoing::{Outgoing, Parcel};
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::socket::Socket;

/// A client that asks one question at a time.
pub type Req = Socket<ReqPattern>;

/// Marks a [`Req`].
#[derive(Debug)]
pub struct ReqPattern;

impl Pattern for ReqPattern {
    const SOCKET_TYPE: SocketType = SocketType::Req;
}

impl Sends for ReqPattern {}
impl Receives for ReqPattern {}

pub(crate) const RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    send,
    receive,
    is_writable,
    link_ended,
    ..Rules::NONE
};

/// A REQ's request in progress.
#[derive(Debug, Default)]
pub(crate) struct Request {
    phase: Phase,
    number: Option<u32>,
    /// What goes before the body: the number, if asked for, and the delimiter.
    envelope: Vec<Bytes>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// The link that has the request.
    Awaiting(usize),
    /// That link is gone, and the application does not know yet.
    Lost,
}

fn send(state: &mut State, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
    if !is_in_turn(state, socket) {
        return Sent::OutOfTurn;
    }
    state.drop_set_aside(socket);
    if !drop_late_replies(state, engine, socket) {
        return Sent::Full;
    }
    let this = &mut state.sockets[socket];
    let mut envelope = std::mem::take(&mut this.request.envelope);
    envelope.clear();
    if this.options.req_correlate {
        let number = this.request.number.map_or_else(|| fastrand::u32(..), |number| number.wrapping_add(1));
        this.request.number = Some(number);
        envelope.push(Bytes::copy_of(&number.to_be_bytes()));
    }
    envelope.push(Bytes::EMPTY);
    let sent_to =
        state.send_in_turn(engine, socket, &Parcel { envelope: &envelope, ..Parcel::plain(message) });
    let request = &mut state.sockets[socket].request;
    request.envelope = envelope;
    match sent_to {
        Some(link) => {
            // A link that failed while it took the request is gone already.
            let is_here = state.links.get(link).is_some_and(|l| l.socket == socket);
            state.sockets[socket].request.phase = if is_here { Phase::Awaiting(link) } else { Phase::Lost };
            state.count_sent(socket)
        }
        None => state.overflow(socket, None),
    }
}

/// Whether a request may be sent: the last one is answered, or need not be.
fn is_in_turn(state: &State, socket: usize) -> bool {
    let this = &state.sockets[socket];
    let awaits = matches!(this.request.phase, Phase::Awaiting(_))
        || this.set_aside.as_ref().is_some_and(SetAside::is_message);
    !awaits || this.options.req_relaxed
}

fn is_writable(state: &mut State, socket: usize) -> bool {
    is_in_turn(state, socket) && state.is_writable_to_any(socket)
}

/// What is here before the request is sent does not answer it. False: there is more.
fn drop_late_replies(state: &mut State, engine: &Engine, socket: usize) -> bool {
    let mut late = Message::new();
    for _ in 0..UNEXPECTED_MAX {
        match state.receive_in_turn(engine, socket, &mut late) {
            Some(link) => state.drop_unexpected(socket, link),
            None => return true,
        }
    }
    state.come_back_to(Unread::Socket(socket));
    false
}

fn receive(state: &mut State, engine: &Engine, socket: usize, into: &mut Message) -> Received {
    for _ in 0..UNEXPECTED_MAX {
        match state.sockets[socket].request.phase {
            Phase::Idle => return Received::OutOfTurn,
            Phase::Awaiting(_) => {}
            Phase::Lost => {
                state.sockets[socket].request.phase = Phase::Idle;
                return Received::PeerLost;
            }
        }
        let found = state.receive_in_turn(engine, socket, into);
        let request = &mut state.sockets[socket].request;
        match found {
            Some(link) if request.phase == Phase::Awaiting(link) && request.is_answered_by(into) => {
                request.phase = Phase::Idle;
                *into = into.as_frames().iter().skip(request.envelope.len()).cloned().collect();
                return Received::Message;
            }
            Some(link) => state.drop_unexpected(socket, link),
            None if request.phase == Phase::Lost => {}
            None => return Received::Nothing,
        }
    }
    state.come_back_to(Unread::Socket(socket));
    Received::Nothing
}

impl Request {
    fn is_answered_by(&self, message: &Message) -> bool {
        message.frame_count() > self.envelope.len() && message.as_frames().starts_with(&self.envelope)
    }
}

fn link_ended(state: &mut State, link: usize, gone: bool) {
    let request = &mut state.sockets[state.links[link].socket].request;
    if gone && request.phase == Phase::Awaiting(link) {
        request.phase = Phase::Lost;
    }
}
