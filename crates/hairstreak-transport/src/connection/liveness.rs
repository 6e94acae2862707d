//! Whether the peer is there: its bytes, what the kernel knows of its host, and when to ask.

use std::time::{Duration, Instant};

use thiserror::Error;

use crate::delivery::Delivery;
use crate::stream::Stream;

/// A host that acknowledges nothing for as long, and for the heartbeat's timeout, is gone. The kernel asks once a second at most.
const HOST_TIMEOUT_MIN: Duration = Duration::from_secs(3);

/// The peer gave no sign of life in time.
#[derive(Debug, Error)]
#[error("the peer gave no sign of life in time")]
pub struct Silent;

/// What a look at the peer's signs of life found.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The protocol is to ask the peer for a sign of life now.
    pub asks: bool,
    /// When to look again.
    pub again: Instant,
}

/// What a look at a peer goes by, besides the peer's bytes and its host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    /// Bytes of the peer wait because the application does not receive.
    pub is_backlogged: bool,
    /// The peer waits for the application, so that its host has to acknowledge.
    pub owes: bool,
    /// A write may be taken.
    pub is_writable: bool,
}

#[derive(Debug)]
pub(super) struct Liveness {
    /// Whether anything came since the last look, and when a look last saw that.
    heard: bool,
    last_heard: Instant,
    /// Since when the peer was asked and there is no sign of life.
    silent_since: Option<Instant>,
    /// For how long the peer has been silent, if that is news, and whether it was told already.
    silence: Option<Duration>,
    silence_told: bool,
    /// The kernel was told to ask whether the peer's host is there.
    kernel_asks: bool,
    /// What the kernel said of the peer at the last look, and when the next look was due.
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

    /// As [`Connection::look_for_life`](super::Connection::look_for_life) says.
    pub fn look(
        &mut self,
        stream: &Stream,
        now: Instant,
        interval: Duration,
        timeout: Duration,
        signs: Signs,
    ) -> Result<Look, Silent> {
        // A peer whose bytes lie here unread is not silent. A question could even destroy what it has still to
        // say: it may have closed, and its host answers with a reset.
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
        // A look that comes late is of a process that was stopped itself; so may the peer have been.
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
        // A peer that acknowledges the question tells how large its window is by now.
        Ok(Look { asks: !is_full, ..self.look_again(now, next.min(timeout)) })
    }

    /// Has the kernel ask for the host of a peer that is not read; one that is gone makes an event as a close does. Fails if the
    /// host acknowledges nothing, where what lies unread is not this side's yet: its sender gives it to another.
    fn look_at_host(
        &mut self,
        stream: &Stream,
        interval: Duration,
        timeout: Duration,
        owes: bool,
    ) -> Result<(), Silent> {
        if !std::mem::replace(&mut self.kernel_asks, true) {
            // A unix socket has no host. What was acknowledged before it was asked says nothing.
            let _ = stream.keep_alive(interval, timeout);
            return Ok(());
        }
        let timeout = timeout.max(HOST_TIMEOUT_MIN);
        if owes && stream.delivery().unacknowledged_for >= timeout { Err(Silent) } else { Ok(()) }
    }

    /// For how long the peer has shown no sign of life, once for each time that it falls silent.
    pub fn take_silence(&mut self) -> Option<Duration> {
        self.silence.take()
    }
}
