//! STREAM: plain tcp peers, which speak no ZMTP. What comes of one is told as it comes, in pieces of any size; what is
//! sent to it goes as it is.
//!
//! - A received message has two frames: the peer's name (five bytes, 0 and a number, as a ROUTER's) and bytes. An
//!   **empty second frame** is the notice that the connection is made, and the last one that it is over.
//! - A message to be sent begins with the name; its other frames go one after the other. Without bytes it **closes** the
//!   connection, once what was sent before has gone; an endpoint connected to is given up with it. An unknown name is
//!   refused (`SendError::Unroutable`).
//! - tcp, ipc and vortex only. A peer that was connected to and lost is connected to again, under another name.
//!
//! What is bounded: connections by `connections_max` (one that is over counts until its last notice is taken), bytes
//! read ahead of each by `receive_bytes_max`, bytes not yet written to each by `send_bytes_max`. A peer that does not
//! read fills the latter, and a send to it waits then, or gives `WouldBlock`: a server of several peers sends with
//! `try_send` or a time-out, and closes who does not read. Nothing is ever dropped from the middle of a stream, so
//! `overflow` may not say so. There are no heartbeats; idle connections stay.

use hairstreak_base::Message;
use hairstreak_wire::zmtp::{RemotePeer, SocketType};

use crate::engine::{Engine, LinkKind, Received, Sent, State};
use crate::outgoing::{Outgoing, Parcel};
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::session::SessionError;
use crate::socket::Socket;

/// Talks to plain tcp peers.
pub type Stream = Socket<StreamPattern>;

/// Marks a [`Stream`].
#[derive(Debug)]
pub struct StreamPattern;

impl Pattern for StreamPattern {
    const SOCKET_TYPE: SocketType = SocketType::Stream;
}

impl Sends for StreamPattern {}
impl Receives for StreamPattern {}

pub(crate) const RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    is_plain: true,
    send,
    receive,
    is_writable: State::is_writable_to_any,
    link_ready,
    link_ended: State::forget_name,
    ..Rules::NONE
};

fn send(state: &mut State, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
    let Some(name) = message.first_of_several() else { return Sent::Unroutable };
    let Some(link) = state.sockets[socket].names.link_of(name) else { return Sent::Unroutable };
    if message.size() == name.len() {
        state.give_up_link(engine, link);
        return Sent::Done;
    }
    state.list_room(link);
    if !state.links[link].listed_room {
        return state.overflow(socket, Some(link));
    }
    let parcel = Parcel { skip_frames: 1, ..Parcel::plain(message) };
    if !state.send_to_link(engine, link, &parcel) {
        // It had less room than it seemed, or it is gone.
        let is_here = state.sockets[socket].names.link_of(name) == Some(link);
        return if is_here { state.overflow(socket, Some(link)) } else { Sent::Unroutable };
    }
    state.count_sent(socket)
}

fn receive(state: &mut State, engine: &Engine, socket: usize, into: &mut Message) -> Received {
    let Some(link) = state.receive_in_turn(engine, socket, into) else { return Received::Nothing };
    let found = &state.links[link];
    *into = std::iter::once(&found.routing_id).chain(into.as_frames()).cloned().collect();
    if matches!(&found.kind, LinkKind::Stream(session) if session.is_over()) {
        // That was its last notice.
        state.end_link(engine, link, &SessionError::Closed);
    }
    Received::Message
}

fn link_ready(state: &mut State, _engine: &Engine, link: usize, _peer: &RemotePeer) -> bool {
    let socket = state.links[link].socket;
    let name = state.sockets[socket].names.automatic();
    state.give_name(link, name);
    if let LinkKind::Stream(session) = &mut state.links[link].kind {
        session.push_notice();
    }
    state.list_messages(link);
    true
}
