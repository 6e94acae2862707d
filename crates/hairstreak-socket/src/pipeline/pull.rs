//! PULL: messages of all connected PUSHes, fairly: one from each that has any, in turn.

use hairstreak_wire::zmtp::SocketType;

use crate::engine::{ShortIn, State};
use crate::pattern::{Incoming, Pattern, Receives, Rules};
use crate::socket::Socket;

/// The receiving end of a pipeline.
pub type Pull = Socket<PullPattern>;

/// Marks a [`Pull`].
#[derive(Debug)]
pub struct PullPattern;

impl Pattern for PullPattern {
    const SOCKET_TYPE: SocketType = SocketType::Pull;
}

impl Receives for PullPattern {}

pub(crate) const RULES: Rules = Rules {
    incoming: Incoming::Messages,
    short_in: ShortIn::AsItCame,
    receive: State::receive_as_it_came,
    ..Rules::NONE
};
