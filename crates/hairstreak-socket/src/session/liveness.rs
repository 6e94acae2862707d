//! Whether the peer lives: commands answered, PINGs sent, silence noticed.

use std::time::{Duration, Instant};

use hairstreak_base::Frame;
use hairstreak_wire::zmtp::{Command, command};

use super::connection::Session;
use super::error::SessionError;

/// A host that acknowledges nothing for as long, and for the heartbeat's timeout, is gone. The kernel asks once a second at most.
const HOST_TIMEOUT_MIN: Duration = Duration::from_secs(3);
/// Answers queued for a peer that sends commands and does not read; further ones are not sent.
const CONTROL_BYTES_MAX: usize = 64 * 1024;

impl Session {
    /// Answers a command; what it says about the connection's health is kept. A subscription is returned
    /// as the message that it stands for.
    pub(super) fn on_command(&mut self, body: &[u8]) -> Result<Option<Frame>, SessionError> {
        match command::parse_traffic(body)? {
            Command::Subscribe { prefix } if self.limits.subscriptions => {
                return Ok(Some(Frame::from_vec([&[1], prefix].concat())));
            }
            Command::Cancel { prefix } if self.limits.subscriptions => {
                return Ok(Some(Frame::from_vec([&[0], prefix].concat())));
            }
            Command::Ping { context, .. } if self.outgoing.queued_bytes() < CONTROL_BYTES_MAX => {
                let mut pong = Vec::new();
                command::encode_pong(&mut pong, context);
                self.push_command(&pong);
            }
            Command::Error { reason } => return Err(SessionError::peer_error(reason)),
            command => self.on_settlement(&command)?,
        }
        Ok(None)
    }

    /// Asks the peer for a sign of life.
    fn send_ping(&mut self, ttl: Duration) {
        let mut ping = Vec::new();
        let tenths = u16::try_from(ttl.as_millis().div_ceil(100)).unwrap_or(u16::MAX);
        command::encode_ping(&mut ping, tenths, &[]);
        self.push_command(&ping);
    }

    /// Sends a PING when the peer has been silent for `interval` (or up to twice that), and further ones
    /// while there is no answer; fails when there was no sign of life for `timeout`. Returns when to look
    /// again.
    ///
    /// A peer whose application is busy reads neither messages nor the PINGs behind them. What keeps it is
    /// any sign that it is at work or merely behind:
    /// - bytes of it that this side has not read;
    /// - it reads: its window grows, or a unix socket's bytes get fewer. A kernel may tell of a window only
    ///   when half a megabyte was read;
    /// - the buffers on the way are full. It is given nothing new then, and to close would lose for certain
    ///   what is queued here. A host that acknowledges nothing is not excused so.
    ///
    /// While bytes of it lie unread its kernel is asked whether the host is there, for who is not read cannot answer.
    ///
    /// A peer of ZMTP 3.0, or of plain TCP, answers no PING: its kernel is asked instead (`SO_KEEPALIVE`).
    ///
    /// Without any, it is given up although it may be alive, as libzmq does: messages in turn would go on to
    /// a peer that hangs. It costs a busy peer a connection, but no message: all that was written is in
    /// its host's buffers, it reads them to the end, and connects again.
    pub fn run_heartbeat(
        &mut self,
        now: Instant,
        interval: Duration,
        timeout: Duration,
    ) -> Result<Instant, SessionError> {
        const NEVER: Duration = Duration::from_secs(3600);
        if interval.is_zero() {
            return Ok(now + NEVER);
        }
        if self.minor == 0 {
            // It knows no PING. A kernel that refuses leaves things as they are.
            let _ = self.stream.keep_alive(interval, timeout);
            return Ok(now + NEVER);
        }
        // A peer whose bytes lie here unread is not silent. A PING could even destroy what it has still to
        // say: it may have closed, and its host answers with a reset.
        if std::mem::take(&mut self.heard) || self.is_backlogged() {
            (self.last_heard, self.silent_since, self.silence_told) = (now, None, false);
            self.look_at_host(interval, timeout)?;
        }
        let Some(since) = self.silent_since else {
            if now < self.last_heard + interval {
                return Ok(self.last_heard + interval);
            }
            self.silent_since = Some(now);
            self.delivery = self.stream.delivery();
            // Without a time to live (as libzmq): while we do not read, we do not PING either.
            self.send_ping(Duration::ZERO);
            return Ok(self.look_again(now, interval.min(timeout)));
        };
        if now < self.look_due {
            return Ok(self.look_due);
        }
        let last = std::mem::replace(&mut self.delivery, self.stream.delivery());
        let is_full = self.delivery.is_held_back || !self.writable;
        let is_behind = is_full && self.delivery.unacknowledged_for < timeout;
        // A look that comes late is of a process that was stopped itself; so may the peer have been.
        let is_late = now > self.look_due + interval.min(timeout);
        if is_behind || is_late || self.delivery.room > last.room || self.stream.has_unread() {
            self.silent_since = Some(now);
        } else {
            if !std::mem::replace(&mut self.silence_told, true) {
                self.silence = Some(now.duration_since(since));
            }
            if now >= since + timeout {
                return Err(SessionError::Silent);
            }
        }
        if !is_full {
            // What acknowledges it tells how large the window is by now.
            self.send_ping(Duration::ZERO);
        }
        let left = (since + timeout).saturating_duration_since(now);
        let next = if left.is_zero() { interval } else { interval.min(left) };
        Ok(self.look_again(now, next.min(timeout)))
    }

    /// Has the kernel ask for the host of a peer that is not read; one that is gone makes an event as a close does. Fails if the
    /// host acknowledges nothing, where what lies unread is not this side's yet: its sender gives it to another.
    fn look_at_host(&mut self, interval: Duration, timeout: Duration) -> Result<(), SessionError> {
        if !self.is_backlogged() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.kernel_asks, true) {
            // A unix socket has no host. What was acknowledged before it was asked says nothing.
            let _ = self.stream.keep_alive(interval, timeout);
            return Ok(());
        }
        let timeout = timeout.max(HOST_TIMEOUT_MIN);
        match self.settles_received() && self.stream.delivery().unacknowledged_for >= timeout {
            true => Err(SessionError::Silent),
            false => Ok(()),
        }
    }

    /// For how long the peer has shown no sign of life, once for each time that it falls silent.
    pub fn take_silence(&mut self) -> Option<Duration> {
        self.silence.take()
    }

    fn look_again(&mut self, now: Instant, after: Duration) -> Instant {
        self.look_due = now + after;
        self.look_due
    }

    pub(super) fn on_bytes(&mut self) {
        self.heard = true;
    }
}
