//! REP: a request of any peer, fairly, then its reply, and so on.
//!
//! ```text
//!           receive                     send
//!   Idle ------------> Answering(peer) ------> Idle
//! ```
//!
//! The frames before a request's first empty one (its envelope) are kept and go before the reply. A
//! request without such a frame is dropped and counted. So is a reply whose peer is gone, or has no
//! room for it: one that does not read must not hold up the others.

use hairstreak_base::{Bytes, Message};
use hairstreak_wire::zmtp::SocketType;

use crate::engine::{Engine, Origin, Received, Sent, State, UNEXPECTED_MAX, Unread};
use crate::options::Overflow;
use crate::outgoing::{Outgoing, Parcel};
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::socket::Socket;

/// A server that answers one question at a time.
pub type Rep = Socket<RepPattern>;

/// Marks a [`Rep`].
#[derive(Debug)]
pub struct RepPattern;

impl Pattern for RepPattern {
    const SOCKET_TYPE: SocketType = SocketType::Rep;
}

impl Sends for RepPattern {}
impl Receives for RepPattern {}

pub(crate) const RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    overflow: |_| Overflow::DropNewest,
    send,
    receive,
    is_writable,
    link_ended,
    ..Rules::NONE
};

/// A REP's request in progress.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    phase: Phase,
    /// What the request began with, delimiter included.
    envelope: Vec<Bytes>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// The link that the request came by.
    Answering(usize),
    /// That link is gone, and the application has not answered yet.
    Lost,
}

fn send(state: &mut State, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
    let this = &state.sockets[socket];
    let sent = match this.reply.phase {
        // The request is here, and was not received yet.
        _ if this.set_aside.is_some() => Sent::OutOfTurn,
        Phase::Idle => Sent::OutOfTurn,
        Phase::Lost => lost(state, socket),
        Phase::Answering(link) => answer(state, engine, socket, link, message),
    };
    if sent == Sent::Done {
        state.sockets[socket].reply.phase = Phase::Idle;
    }
    sent
}

fn is_writable(state: &mut State, socket: usize) -> bool {
    let this = &state.sockets[socket];
    match this.reply.phase {
        _ if this.set_aside.is_some() => false,
        Phase::Idle => false,
        Phase::Answering(link) => state.is_writable_to(socket, link),
        Phase::Lost => true,
    }
}

fn answer(state: &mut State, engine: &Engine, socket: usize, link: usize, message: &Outgoing<'_>) -> Sent {
    state.list_room(link);
    let envelope = std::mem::take(&mut state.sockets[socket].reply.envelope);
    let parcel = Parcel { envelope: &envelope, ..Parcel::plain(message) };
    let accepted = state.links[link].listed_room && state.send_to_link(engine, link, &parcel);
    let reply = &mut state.sockets[socket].reply;
    reply.envelope = envelope;
    match (accepted, reply.phase) {
        (true, _) => state.count_sent(socket),
        (false, Phase::Lost) => lost(state, socket),
        (false, _) => state.overflow(socket, Some(link)),
    }
}

/// The peer that wants the reply is gone.
fn lost(state: &mut State, socket: usize) -> Sent {
    state.sockets[socket].drops.peer_lost += 1;
    state.count_sent(socket)
}

fn receive(state: &mut State, engine: &Engine, socket: usize, into: &mut Message) -> Received {
    if state.sockets[socket].reply.phase != Phase::Idle {
        return Received::OutOfTurn;
    }
    for _ in 0..UNEXPECTED_MAX {
        let Some(link) = state.receive_in_turn(engine, socket, into) else { return Received::Nothing };
        let frames = into.as_frames();
        // Something has to follow the delimiter.
        let delimiter = frames[..frames.len() - 1].iter().position(|frame| frame.size() == 0);
        let Some(delimiter) = delimiter else {
            state.drop_unexpected(socket, link);
            continue;
        };
        let (envelope, request) = frames.split_at(delimiter + 1);
        let is_here = !matches!(state.links[link].origin, Origin::Ended);
        let reply = &mut state.sockets[socket].reply;
        reply.phase = if is_here { Phase::Answering(link) } else { Phase::Lost };
        reply.envelope.clear();
        reply.envelope.extend_from_slice(envelope);
        *into = request.iter().cloned().collect();
        return Received::Message;
    }
    state.come_back_to(Unread::Socket(socket));
    Received::Nothing
}

fn link_ended(state: &mut State, link: usize, _gone: bool) {
    let reply = &mut state.sockets[state.links[link].socket].reply;
    if reply.phase == Phase::Answering(link) {
        reply.phase = Phase::Lost;
    }
}
