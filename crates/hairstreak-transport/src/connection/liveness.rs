//! Whether the peer is there: its bytes, what the kernel knows of its host, and when to ask.

use std::time::{Duration, Instant};

use thiserror::Error;

use super::Connection;
use crate::delivery::Delivery;

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
}

impl Connection {
    /// Looks for signs of life of a peer that has been silent for `interval` (or up to twice that). Says when the
    /// protocol is to ask for one, first and while there is no answer. `is_backlogged`: bytes of the peer wait because the
    /// application does not receive. `owes`: the peer waits for the application, so that its host has to acknowledge.
    ///
    /// A peer whose application is busy reads neither messages nor the questions behind them. The peer is kept for
    /// any sign that it is at work or merely behind:
    /// - bytes of the peer that this side has not read;
    /// - the peer reads: its window grows, or a unix socket's bytes get fewer. A kernel may tell of a window only
    ///   when half a megabyte was read;
    /// - the buffers on the way are full. The peer is given nothing new then, and to close would lose for certain
    ///   what is queued here. A host that acknowledges nothing is not excused so.
    ///
    /// While bytes of the peer lie unread its kernel is asked whether the host is there, because a peer that is not read cannot
    /// answer.
    ///
    /// Without any sign the peer is given up although it may be alive, as libzmq does: messages in turn would go on to
    /// a peer that hangs. A busy peer loses a connection so, but no message: all that was written is in
    /// its host's buffers, the peer reads them to the end, and connects again.
    ///
    /// Errors: there was no sign of life for `timeout`.
    pub fn look_for_life(
        &mut self,
        now: Instant,
        interval: Duration,
        timeout: Duration,
        is_backlogged: bool,
        owes: bool,
    ) -> Result<Look, Silent> {
        // A peer whose bytes lie here unread is not silent. A question could even destroy what it has still to
        // say: it may have closed, and its host answers with a reset.
        self.rest();
        let life = &mut self.liveness;
        if std::mem::take(&mut life.heard) || is_backlogged {
            (life.last_heard, life.silent_since, life.silence_told) = (now, None, false);
            if is_backlogged {
                self.look_at_host(interval, timeout, owes)?;
            }
        }
        let life = &mut self.liveness;
        let Some(since) = life.silent_since else {
            if now < life.last_heard + interval {
                return Ok(Look { asks: false, again: life.last_heard + interval });
            }
            life.silent_since = Some(now);
            life.delivery = self.stream.delivery();
            return Ok(Look { asks: true, ..life.look_again(now, interval.min(timeout)) });
        };
        if now < life.look_due {
            return Ok(Look { asks: false, again: life.look_due });
        }
        let last = std::mem::replace(&mut life.delivery, self.stream.delivery());
        let is_full = life.delivery.is_held_back || !self.writable;
        let is_behind = is_full && life.delivery.unacknowledged_for < timeout;
        // A look that comes late is of a process that was stopped itself; so may the peer have been.
        let is_late = now > life.look_due + interval.min(timeout);
        if is_behind || is_late || life.delivery.room > last.room || self.stream.has_unread() {
            life.silent_since = Some(now);
        } else {
            if !std::mem::replace(&mut life.silence_told, true) {
                life.silence = Some(now.duration_since(since));
            }
            if now >= since + timeout {
                return Err(Silent);
            }
        }
        let left = (since + timeout).saturating_duration_since(now);
        let next = if left.is_zero() { interval } else { interval.min(left) };
        // A peer that acknowledges the question tells how large its window is by now.
        Ok(Look { asks: !is_full, ..life.look_again(now, next.min(timeout)) })
    }

    /// Has the kernel ask a peer that answers no question of the protocol whether its host is there. A kernel that
    /// refuses leaves things as they are.
    pub fn leave_liveness_to_kernel(&self, interval: Duration, timeout: Duration) {
        let _ = self.stream.keep_alive(interval, timeout);
    }

    /// Has the kernel ask for the host of a peer that is not read; one that is gone makes an event as a close does. Fails if the
    /// host acknowledges nothing, where what lies unread is not this side's yet: its sender gives it to another.
    fn look_at_host(&mut self, interval: Duration, timeout: Duration, owes: bool) -> Result<(), Silent> {
        if !std::mem::replace(&mut self.liveness.kernel_asks, true) {
            // A unix socket has no host. What was acknowledged before it was asked says nothing.
            let _ = self.stream.keep_alive(interval, timeout);
            return Ok(());
        }
        let timeout = timeout.max(HOST_TIMEOUT_MIN);
        if owes && self.stream.delivery().unacknowledged_for >= timeout { Err(Silent) } else { Ok(()) }
    }

    /// For how long the peer has shown no sign of life, once for each time that it falls silent.
    pub fn take_silence(&mut self) -> Option<Duration> {
        self.liveness.silence.take()
    }
}
