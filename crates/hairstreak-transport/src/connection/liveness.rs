//! Liveness of the peer. The signs are the peer's bytes and the kernel's knowledge of the peer's host.

use std::time::{Duration, Instant};

use thiserror::Error;

use crate::delivery::Delivery;
use crate::stream::Stream;

/// A host is gone if it acknowledges nothing for this time and for the heartbeat's timeout. The kernel asks at most once a second.
const HOST_TIMEOUT_MIN: Duration = Duration::from_secs(3);

/// The peer gave no sign of life in time.
#[derive(Debug, Error)]
#[error("the peer gave no sign of life in time")]
pub struct Silent;

/// Result of a look for the peer's signs of life.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The protocol must ask the peer for a sign of life now.
    pub asks: bool,
    /// Time of the next look.
    pub again: Instant,
}

/// The circumstances of a look at a peer, besides the peer's bytes and its host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    /// Bytes of the peer wait, because the application does not receive.
    pub is_backlogged: bool,
    /// The peer waits for the application, so that the peer's host must acknowledge.
    pub owes: bool,
    /// A write may be taken.
    pub is_writable: bool,
}

#[derive(Debug)]
pub(super) struct Liveness {
    /// `heard`: bytes have come since the last look. `last_heard`: the last look that saw new bytes.
    heard: bool,
    last_heard: Instant,
    /// Time of the question to the peer, if no sign of life has come since.
    silent_since: Option<Instant>,
    /// `silence`: the length of the peer's silence, once it is worth a report. `silence_told`: it was reported.
    silence: Option<Duration>,
    silence_told: bool,
    /// The kernel was told to ask for the peer's host.
    kernel_asks: bool,
    /// `delivery`: the kernel's view of the peer at the last look. `look_due`: the time at which the next look was due.
    delivery: Delivery,
    look_due: Instant,
}

impl Liveness {
    pub fn new(now: Instant) -> Liveness {
        Liveness {
            heard: false,
            last_heard: now,
            silent_since: None,
            silence: None,
            silence_told: false,
            kernel_asks: false,
            delivery: Delivery::default(),
            look_due: now,
        }
    }

    #[inline]
    pub fn has_heard(&mut self) {
        self.heard = true;
    }

    fn look_again(&mut self, now: Instant, after: Duration) -> Look {
        self.look_due = now + after;
        Look { asks: false, again: self.look_due }
    }

    /// See [`Connection::look_for_life`](super::Connection::look_for_life).
    pub fn look(
        &mut self,
        stream: &Stream,
        now: Instant,
        interval: Duration,
        timeout: Duration,
        signs: Signs,
    ) -> Result<Look, Silent> {
        // A peer with unread bytes here is not silent. A question could even destroy bytes that are still to come: if the
        // peer has closed, its host answers with a reset.
        if std::mem::take(&mut self.heard) || signs.is_backlogged {
            (self.last_heard, self.silent_since, self.silence_told) = (now, None, false);
            if signs.is_backlogged {
                self.look_at_host(stream, interval, timeout, signs.owes)?;
            }
        }
        let Some(since) = self.silent_since else {
            if now < self.last_heard + interval {
                return Ok(Look { asks: false, again: self.last_heard + interval });
            }
            self.silent_since = Some(now);
            self.delivery = stream.delivery();
            return Ok(Look { asks: true, ..self.look_again(now, interval.min(timeout)) });
        };
        if now < self.look_due {
            return Ok(Look { asks: false, again: self.look_due });
        }
        let last = std::mem::replace(&mut self.delivery, stream.delivery());
        let is_full = self.delivery.is_held_back || !signs.is_writable;
        let is_behind = is_full && self.delivery.unacknowledged_for < timeout;
        // A late look means that this process was stopped. The peer may have been stopped, too.
        let is_late = now > self.look_due + interval.min(timeout);
        if is_behind || is_late || self.delivery.room > last.room || stream.has_unread() {
            self.silent_since = Some(now);
        } else {
            if !std::mem::replace(&mut self.silence_told, true) {
                self.silence = Some(now.duration_since(since));
            }
            if now >= since + timeout {
                return Err(Silent);
            }
        }
        let left = (since + timeout).saturating_duration_since(now);
        let next = if left.is_zero() { interval } else { interval.min(left) };
        // The acknowledgement of the question has the present size of the peer's window.
        Ok(Look { asks: !is_full, ..self.look_again(now, next.min(timeout)) })
    }

    /// Has the kernel ask for the host of a peer that is not read. A host that is gone makes an event, as a close does. Fails if the
    /// host acknowledges nothing while the unread bytes are not yet this side's: the sender gives them to another peer.
    fn look_at_host(
        &mut self,
        stream: &Stream,
        interval: Duration,
        timeout: Duration,
        owes: bool,
    ) -> Result<(), Silent> {
        if !std::mem::replace(&mut self.kernel_asks, true) {
            // A unix socket has no host. Acknowledgements from before the question do not count.
            let _ = stream.keep_alive(interval, timeout);
            return Ok(());
        }
        let timeout = timeout.max(HOST_TIMEOUT_MIN);
        if owes && stream.delivery().unacknowledged_for >= timeout { Err(Silent) } else { Ok(()) }
    }

    /// Returns the length of the peer's silence, once for each time that the peer falls silent.
    pub fn take_silence(&mut self) -> Option<Duration> {
        self.silence.take()
    }
}
