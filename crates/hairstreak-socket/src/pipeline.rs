//! The pipeline pattern (ZeroMQ RFC 30): PUSH hands each message to one PULL.
//!
//! - **PUSH**: each message to one connected PULL, in turn, skipping those without room; blocks when none
//!   has room, unless another [`Overflow`](crate::Overflow) is asked for. Multi-frame messages are atomic.
//!   With `Distribution::All` every PULL gets a copy.
//! - **PULL**: messages of all connected PUSHes, fairly: one from each that has any, in turn.
//!
//! A PULL acknowledges nothing: with a connection that is lost goes what was accepted for it and not yet written, up to
//! the high-water marks and counted in [`Drops::peer_lost`](crate::Drops::peer_lost), and what the kernels held. What a
//! PULL had and did not receive when it left, it counts ([`Drops::unreceived`](crate::Drops::unreceived)).

use hairstreak_wire::zmtp::SocketType;

use crate::engine::{ShortIn, ShortOut, State};
use crate::pattern::{Incoming, Pattern, Receives, Rules, Sends};
use crate::socket::Socket;

/// The sending end of a pipeline.
pub type Push = Socket<PushPattern>;

/// Marks a [`Push`].
#[derive(Debug)]
pub struct PushPattern;

impl Pattern for PushPattern {
    const SOCKET_TYPE: SocketType = SocketType::Push;
}

impl Sends for PushPattern {}

pub(crate) const PUSH_RULES: Rules = Rules {
    sends: true,
    short_out: ShortOut::InTurn,
    send: State::send_by_distribution,
    is_writable: State::is_writable_by_distribution,
    ..Rules::NONE
};

/// The receiving end of a pipeline.
pub type Pull = Socket<PullPattern>;

/// Marks a [`Pull`].
#[derive(Debug)]
pub struct PullPattern;

impl Pattern for PullPattern {
    const SOCKET_TYPE: SocketType = SocketType::Pull;
}

impl Receives for PullPattern {}

pub(crate) const PULL_RULES: Rules = Rules {
    incoming: Incoming::Messages,
    short_in: ShortIn::AsItCame,
    receive: State::receive_as_it_came,
    ..Rules::NONE
};
