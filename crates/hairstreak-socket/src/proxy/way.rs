//! `Way`: moving messages from one end to the other.

use hairstreak_base::Message;

use super::port::{ProxyEnd, ProxySocket};
use super::statistics::{ProxyStats, ProxyTraffic};
use crate::engine::Sent;

/// Messages of one way in one go; then the other way has its turn.
const BURST_COUNT_MAX: usize = 256;
/// Bytes of one way in one go; the message that passes it is the last.
const BURST_BYTES_MAX: usize = 1 << 20;

/// Why a burst has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// There may be more.
    Burst,
    /// No message is here.
    Dry,
    /// That end takes no more.
    NoRoom(ProxyEnd),
    Closed(ProxyEnd),
}

/// One of the two ways through a proxy.
pub(super) struct Way {
    pub from: ProxyEnd,
    pub to: ProxyEnd,
    /// Received, and not sent on yet: the room that it had was taken by another.
    in_hand: Option<InHand>,
    spare: Message,
}

struct InHand {
    message: Message,
    captured: bool,
}

/// The sockets of a way.
pub(super) struct Ports<'a> {
    pub from: &'a ProxySocket,
    pub to: &'a ProxySocket,
    pub capture: Option<&'a ProxySocket>,
}

impl Way {
    pub fn new(from: ProxyEnd, to: ProxyEnd) -> Way {
        Way { from, to, in_hand: None, spare: Message::new() }
    }

    pub fn is_in_hand(&self) -> bool {
        self.in_hand.is_some()
    }

    /// Moves messages until one of the two, or the capture, cannot go on, or the burst is over.
    pub fn burst(&mut self, ports: &Ports<'_>, statistics: &mut ProxyStats) -> Ended {
        let mut bytes = 0;
        for _ in 0..BURST_COUNT_MAX {
            match self.move_one(ports, statistics) {
                Ok(size) => bytes += size,
                Err(ended) => return ended,
            }
            if bytes >= BURST_BYTES_MAX {
                break;
            }
        }
        Ended::Burst
    }

    /// Returns the size of what was moved.
    fn move_one(&mut self, ports: &Ports<'_>, statistics: &mut ProxyStats) -> Result<usize, Ended> {
        let mut held = match self.in_hand.take() {
            Some(held) => held,
            None => self.take(ports, statistics)?,
        };
        let size = held.message.size();
        if let Some(capture) = ports.capture
            && !held.captured
        {
            match capture.send(&held.message) {
                Sent::Full => return Err(self.keep(held, Ended::NoRoom(ProxyEnd::Capture))),
                Sent::Closed => return Err(self.keep(held, Ended::Closed(ProxyEnd::Capture))),
                _ => held.captured = true,
            }
        }
        match ports.to.send(&held.message) {
            Sent::Done => {
                let traffic = traffic(statistics, self.to);
                traffic.sent += 1;
                traffic.sent_bytes += size as u64;
            }
            Sent::Full => return Err(self.keep(held, Ended::NoRoom(self.to))),
            Sent::Closed => return Err(self.keep(held, Ended::Closed(self.to))),
            Sent::Unroutable | Sent::OutOfTurn | Sent::Refused(_) => statistics.refused += 1,
        }
        self.spare = held.message;
        Ok(size)
    }

    /// The next message, if all who are to get it have room.
    fn take(&mut self, ports: &Ports<'_>, statistics: &mut ProxyStats) -> Result<InHand, Ended> {
        if !ports.to.has_room() {
            return Err(Ended::NoRoom(self.to));
        }
        if ports.capture.is_some_and(|capture| !capture.has_room()) {
            return Err(Ended::NoRoom(ProxyEnd::Capture));
        }
        let mut message = std::mem::take(&mut self.spare);
        match ports.from.receive(&mut message) {
            Some(true) => {
                let traffic = traffic(statistics, self.from);
                traffic.received += 1;
                traffic.received_bytes += message.size() as u64;
                Ok(InHand { message, captured: false })
            }
            Some(false) => Err(Ended::Dry),
            None => Err(Ended::Closed(self.from)),
        }
    }

    fn keep(&mut self, held: InHand, ended: Ended) -> Ended {
        self.in_hand = Some(held);
        ended
    }
}

fn traffic(statistics: &mut ProxyStats, end: ProxyEnd) -> &mut ProxyTraffic {
    if end == ProxyEnd::Frontend { &mut statistics.frontend } else { &mut statistics.backend }
}
