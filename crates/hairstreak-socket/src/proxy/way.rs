//! `Way`: moving messages from one end to the other.
//!
//! Sockets of one engine are looked at, received from and sent to under its lock, which is taken once for a burst.
//! Those of several engines are locked one after the other, message by message, and never two at a time.

use std::sync::Arc;

use hairstreak_base::{Bytes, Message};

use super::port::{ProxyEnd, ProxySocket};
use super::statistics::{ProxyStats, ProxyTraffic};
use crate::batch::weight;
use crate::engine::{Guard, Sent, State};

/// Messages of one way in one go; then the other way has its turn.
const BURST_COUNT_MAX: usize = 256;
/// Bytes of one way in one go, as a batch counts them; the message that passes it is the last.
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

impl Ports<'_> {
    /// The lock of the engine that they share, if they do.
    fn lock(&self) -> Option<Guard<'_>> {
        let mut others = std::iter::once(self.to).chain(self.capture);
        others.all(|other| Arc::ptr_eq(other.engine(), self.from.engine())).then(|| self.from.lock())
    }
}

/// Does something under the lock of the port's engine: `shared`, if all share one.
#[inline]
fn with<R>(shared: &mut Option<Guard<'_>>, port: &ProxySocket, act: impl FnOnce(&mut State) -> R) -> R {
    match shared {
        Some(state) => act(state),
        None => act(&mut port.lock()),
    }
}

impl Way {
    pub fn new(from: ProxyEnd, to: ProxyEnd) -> Way {
        Way { from, to, in_hand: None, spare: Message::new() }
    }

    pub fn is_in_hand(&self) -> bool {
        self.in_hand.is_some()
    }

    /// The peer that the message in hand is for, if it may go to no other.
    pub fn addressee(&self, to: &ProxySocket) -> Option<Bytes> {
        let held = self.in_hand.as_ref().filter(|_| to.addresses())?;
        held.message.as_frames().first().cloned()
    }

    /// Moves messages until one of the two, or the capture, cannot go on, or the burst is over.
    pub fn burst(&mut self, ports: &Ports<'_>, statistics: &mut ProxyStats) -> Ended {
        let mut weight = 0;
        let mut shared = ports.lock();
        for _ in 0..BURST_COUNT_MAX {
            match self.move_one(ports, &mut shared, statistics) {
                Ok(moved) => weight += moved,
                Err(ended) => return ended,
            }
            if weight >= BURST_BYTES_MAX {
                break;
            }
        }
        Ended::Burst
    }

    /// Returns the weight of what was moved.
    fn move_one(
        &mut self,
        ports: &Ports<'_>,
        shared: &mut Option<Guard<'_>>,
        statistics: &mut ProxyStats,
    ) -> Result<usize, Ended> {
        let mut held = match self.in_hand.take() {
            Some(held) => held,
            None => self.take(ports, shared, statistics)?,
        };
        let size = held.message.size();
        if let Some(capture) = ports.capture
            && !held.captured
        {
            match with(shared, capture, |state| capture.send(state, &held.message)) {
                Sent::Full => return Err(self.keep(held, Ended::NoRoom(ProxyEnd::Capture))),
                Sent::Closed => return Err(self.keep(held, Ended::Closed(ProxyEnd::Capture))),
                _ => held.captured = true,
            }
        }
        match with(shared, ports.to, |state| ports.to.send(state, &held.message)) {
            Sent::Done => {
                let traffic = traffic(statistics, self.to);
                traffic.sent += 1;
                traffic.sent_bytes += size as u64;
            }
            Sent::Full => return Err(self.keep(held, Ended::NoRoom(self.to))),
            Sent::Closed => return Err(self.keep(held, Ended::Closed(self.to))),
            Sent::Unroutable | Sent::OutOfTurn | Sent::Refused(_) => statistics.refused += 1,
        }
        let weight = weight(&held.message);
        self.spare = held.message;
        Ok(weight)
    }

    /// The next message, if all who are to get it have room.
    fn take(
        &mut self,
        ports: &Ports<'_>,
        shared: &mut Option<Guard<'_>>,
        statistics: &mut ProxyStats,
    ) -> Result<InHand, Ended> {
        if !with(shared, ports.to, |state| ports.to.has_room(state)) {
            return Err(Ended::NoRoom(self.to));
        }
        if let Some(capture) = ports.capture
            && !with(shared, capture, |state| capture.has_room(state))
        {
            return Err(Ended::NoRoom(ProxyEnd::Capture));
        }
        let mut message = std::mem::take(&mut self.spare);
        match with(shared, ports.from, |state| ports.from.receive(state, &mut message)) {
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
