//! PAIR (ZeroMQ RFC 31): one peer, messages both ways. A second peer is refused and counted as long as
//! the first is there.

use hairstreak_wire::zmtp::SocketType;

use crate::engine::{ShortIn, ShortOut, State};
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::socket::Socket;

/// One end of a pair.
pub type Pair = Socket<PairPattern>;

/// Marks a [`Pair`].
#[derive(Debug)]
pub struct PairPattern;

impl Pattern for PairPattern {
    const SOCKET_TYPE: SocketType = SocketType::Pair;
}

impl Sends for PairPattern {}
impl Receives for PairPattern {}

pub(crate) const RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    short_out: ShortOut::InTurn,
    short_in: ShortIn::AsItCame,
    send: State::send_by_distribution,
    is_writable: State::is_writable_by_distribution,
    receive: State::receive_as_it_came,
    accepts: |state, socket| state.sockets[socket].links.is_empty(),
    ..Rules::NONE
};
