//! Steering by messages: the words of `zmq_proxy_steerable`, and the replies to them.

use hairstreak_base::Message;
use hairstreak_wire::zmtp::SocketType;

use super::control::{ProxyControl, Wish};
use super::port::ProxySocket;
use super::statistics::ProxyStats;

/// Words obeyed in one go; then messages have their turn.
const WORDS_MAX: usize = 16;

/// Says that a word is none.
const UNKNOWN: &str = "unknown command: PAUSE, RESUME, TERMINATE or STATISTICS";

/// Does what the words say that are here. False: the socket is closed.
pub(super) fn obey(port: &ProxySocket, control: &ProxyControl, statistics: &ProxyStats) -> bool {
    let mut message = Message::new();
    for _ in 0..WORDS_MAX {
        let received = port.receive(&mut port.lock(), &mut message);
        match received {
            Some(true) => obey_one(port, &message, control, statistics),
            Some(false) => return true,
            None => return false,
        }
    }
    true
}

fn obey_one(port: &ProxySocket, message: &Message, control: &ProxyControl, statistics: &ProxyStats) {
    let reply = match message.body() {
        b"PAUSE" => {
            control.set_wish(Wish::Pause);
            Message::new()
        }
        b"RESUME" => {
            control.set_wish(Wish::Run);
            Message::new()
        }
        b"TERMINATE" => {
            control.set_wish(Wish::Terminate);
            Message::new()
        }
        b"STATISTICS" => Message::from_frames(statistics.numbers().map(u64::to_ne_bytes)),
        _ => Message::from(UNKNOWN),
    };
    // As libzmq does, a PAIR or DEALER replies only when something was asked for.
    let replies = match port.socket_type {
        SocketType::Rep => true,
        SocketType::Pair | SocketType::Dealer => reply.size() > 0,
        _ => false,
    };
    if replies {
        // A peer that does not take the reply has only itself to ask why.
        port.send(&mut port.lock(), &reply);
    }
}
