//! DEALER: sends to its peers in turn and receives from all of them fairly; never drops, blocks
//! instead. It adds no envelope: towards a REP send an empty frame first.

use hairstreak_wire::zmtp::SocketType;

use crate::engine::{ShortIn, ShortOut, State};
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::socket::Socket;

/// An asynchronous client.
pub type Dealer = Socket<DealerPattern>;

/// Marks a [`Dealer`].
#[derive(Debug)]
pub struct DealerPattern;

impl Pattern for DealerPattern {
    const SOCKET_TYPE: SocketType = SocketType::Dealer;
}

impl Sends for DealerPattern {}
impl Receives for DealerPattern {}

pub(crate) const RULES: Rules = Rules {
    sends: true,
    incoming: Incoming::Messages,
    short_out: ShortOut::InTurn,
    short_in: ShortIn::AsItCame,
    send: State::send_by_distribution,
    is_writable: State::is_writable_by_distribution,
    receive: State::receive_as_it_came,
    ..Rules::NONE
};
