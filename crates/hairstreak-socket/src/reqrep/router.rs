//! ROUTER: what it receives begins with a frame that names the peer, what it sends must.
//!
//! The name is the peer's routing id if it announced one, else five bytes: 0 and a number. With
//! [`Server::assigning_ids`](crate::security::Server::assigning_ids) it is never announced, and names the user behind these bytes. A second
//! peer of the same name is refused, or takes the first one's place (`router_handover`). A message for
//! an unknown peer, or for one without room, is dropped and counted; with `router_mandatory` it is
//! refused (`SendError::Unroutable`), or waits. With `router_notify` it is told of peers that come and go (notices.rs).

use foldhash::HashMap;
use hairstreak_base::{Bytes, Message};
use hairstreak_wire::zmtp::{RemotePeer, SocketType};

use crate::engine::{Engine, Received, Sent, ShortIn, ShortOut, SocketState, State};
use crate::options::Overflow;
use crate::outgoing::{Outgoing, Parcel};
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::peer::PeerInfo;
use crate::session::SessionError;
use crate::socket::Socket;

/// An asynchronous server that addresses each peer.
pub type Router = Socket<RouterPattern>;

/// Marks a [`Router`].
#[derive(Debug)]
pub struct RouterPattern;

impl Pattern for RouterPattern {
    const SOCKET_TYPE: SocketType = SocketType::Router;
}

impl Sends for RouterPattern {}
impl Receives for RouterPattern {}

impl Router {
    /// The ready peer of this name; `None`: there is none by now, though messages of it may be left.
    pub fn peer(&self, routing_id: &[u8]) -> Option<PeerInfo> {
        if self.handle.is_forked() {
            return None;
        }
        let mut state = self.handle.engine.lock();
        let link = *state.sockets.get(self.handle.index)?.names.links.get(routing_id)?;
        match state.end_if_over(&self.handle.engine, link) {
            true => None,
            false => state.peer_info(link),
        }
    }
}

pub(crate) const RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    short_out: ShortOut::ToNamed,
    short_in: ShortIn::Named,
    overflow: |options| if options.router_mandatory { Overflow::Block } else { Overflow::DropNewest },
    send,
    receive,
    is_writable: State::is_writable_to_any,
    accepts: |state, socket| state.sockets[socket].notices.has_room(),
    link_ready,
    link_ended,
    ..Rules::NONE
};

/// Bytes of a name that this side gives.
const AUTOMATIC_SIZE: usize = 5;
/// Stands between such a name and the user's.
const USER_MARK: u8 = b'@';

/// The user that the authenticator called a peer, by the routing id that a ROUTER with
/// [`Server::assigning_ids`](crate::security::Server::assigning_ids) gave it. `None`: the authenticator had no name for it. Holds for messages of peers
/// that are gone, too.
pub fn user_of(routing_id: &[u8]) -> Option<&str> {
    let (mark, user) = routing_id.get(AUTOMATIC_SIZE..)?.split_first()?;
    if *mark == USER_MARK { str::from_utf8(user).ok() } else { None }
}

/// The names of a ROUTER's peers, or a STREAM's.
#[derive(Debug, Default)]
pub(crate) struct Names {
    links: HashMap<Vec<u8>, usize>,
    next_number: Option<u32>,
    /// The link whose message was received last: what is sent is likely to answer it.
    pub guess: usize,
}

impl Names {
    /// The link of that name.
    pub fn link_of(&self, name: &[u8]) -> Option<usize> {
        self.links.get(name).copied()
    }

    /// A name that nobody has.
    pub fn automatic(&mut self) -> Vec<u8> {
        loop {
            let number = self.next_number.unwrap_or_else(|| fastrand::u32(..));
            self.next_number = Some(number.wrapping_add(1));
            let name = [&[0][..], &number.to_be_bytes()].concat();
            if !self.links.contains_key(&name) {
                return name;
            }
        }
    }

    /// The same, which says whose it is.
    fn automatic_of(&mut self, user: Option<&str>) -> Vec<u8> {
        let Some(user) = user else { return self.automatic() };
        [&self.automatic(), &[USER_MARK][..], user.as_bytes()].concat()
    }
}

fn send(state: &mut State, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
    let Some(name) = message.first_of_several() else { return unroutable(state, socket) };
    let Some(link) = state.sockets[socket].names.link_of(name) else { return unroutable(state, socket) };
    state.list_room(link);
    if !state.links[link].listed_room {
        return state.overflow(socket, Some(link));
    }
    let parcel = Parcel { skip_frames: 1, ..Parcel::plain(message) };
    if !state.send_to_link(engine, link, &parcel) {
        // It had less room than it seemed, or it is gone.
        let is_here = state.links.get(link).is_some_and(|l| l.socket == socket && l.peer.is_some());
        return if is_here { state.overflow(socket, Some(link)) } else { unroutable(state, socket) };
    }
    state.count_sent(socket)
}

fn unroutable(state: &mut State, socket: usize) -> Sent {
    let socket_state = &mut state.sockets[socket];
    if socket_state.options.router_mandatory {
        return Sent::Unroutable;
    }
    socket_state.drops.unroutable += 1;
    state.count_sent(socket)
}

fn receive(state: &mut State, engine: &Engine, socket: usize, into: &mut Message) -> Received {
    if state.take_first(socket, into) {
        return Received::Message;
    }
    let mut message = Message::new();
    let Some(link) = state.receive_in_turn(engine, socket, &mut message) else {
        // It may have found that a peer is gone.
        return if state.take_first(socket, into) { Received::Message } else { Received::Nothing };
    };
    state.sockets[socket].names.guess = link;
    into.set_with_first(&state.links[link].routing_id, message);
    Received::Message
}

fn link_ready(state: &mut State, engine: &Engine, link: usize, peer: &RemotePeer) -> bool {
    let socket = state.links[link].socket;
    let announced = &peer.routing_id;
    let SocketState { names, options, .. } = &mut state.sockets[socket];
    let name = match announced.first() {
        _ if options.security.assigns_ids() => names.automatic_of(peer.user_id.as_deref()),
        // A leading zero is kept for names that this side gives.
        None | Some(0) => names.automatic(),
        Some(_) => announced.clone(),
    };
    if let Some(&holder) = names.links.get(&name) {
        if !state.sockets[socket].options.router_handover {
            return false;
        }
        state.end_link(engine, holder, &SessionError::HandedOver);
    }
    state.put_left_first(engine, socket, &name);
    state.give_name(link, name);
    state.note_coming(link);
    true
}

fn link_ended(state: &mut State, link: usize, gone: bool) {
    state.forget_name(link, gone);
    state.note_going(link, gone);
}

impl State {
    /// Calls the link's peer so, which nobody else is called.
    pub fn give_name(&mut self, link: usize, name: Vec<u8>) {
        self.links[link].routing_id = Bytes::copy_of(&name);
        self.sockets[self.links[link].socket].names.links.insert(name, link);
    }

    /// Messages of that name go nowhere any more.
    pub fn forget_name(&mut self, link: usize, _gone: bool) {
        let (socket, name) = (self.links[link].socket, self.links[link].routing_id.as_bytes());
        let names = &mut self.sockets[socket].names.links;
        if names.get(name) == Some(&link) {
            names.remove(name);
        }
    }
}
