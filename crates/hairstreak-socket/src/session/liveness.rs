//! Whether the peer lives: commands answered, PINGs sent, silence noticed.

use std::time::{Duration, Instant};

use hairstreak_base::Frame;
use hairstreak_wire::zmtp::{Command, command};

use super::connection::Session;
use super::error::SessionError;

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
            Command::Error { .. } => return Err(SessionError::Closed),
            _ => {}
        }
        Ok(None)
    }

    /// Asks the peer for a sign of life.
    fn send_ping(&mut self, ttl: Duration, now: Instant) {
        let mut ping = Vec::new();
        let tenths = u16::try_from(ttl.as_millis().div_ceil(100)).unwrap_or(u16::MAX);
        command::encode_ping(&mut ping, tenths, &[]);
        self.push_command(&ping);
        self.ping_sent = Some(now);
    }

    /// Sends a PING when the peer has been silent for `interval` (or up to twice that); fails when one
    /// has been unanswered for `timeout`. Returns when to look again. The time-out does not run while
    /// this side does not read, nor while messages were sent that the peer may not have read: its
    /// PONG is behind them.
    pub fn run_heartbeat(
        &mut self,
        now: Instant,
        interval: Duration,
        timeout: Duration,
    ) -> Result<Instant, SessionError> {
        const NEVER: Duration = Duration::from_secs(3600);
        if interval.is_zero() || self.minor == 0 {
            return Ok(now + NEVER);
        }
        // A peer whose bytes lie here unread is not silent. A PING could even destroy what it has still to
        // say: it may have closed, and its host answers with a reset.
        if std::mem::take(&mut self.heard) || self.is_backlogged() {
            self.last_heard = now;
            self.ping_sent = None;
        }
        let excused = self.is_backlogged() || self.sent_since_heard || !self.outgoing.is_empty();
        match self.ping_sent {
            Some(sent) if now < sent + timeout => Ok((sent + timeout).min(now + interval)),
            Some(_) if excused => Ok(now + interval),
            Some(_) => Err(SessionError::Silent),
            None if now < self.last_heard + interval => Ok(self.last_heard + interval),
            None => {
                // Without a time to live (as libzmq): while we do not read, we do not PING either.
                self.send_ping(Duration::ZERO, now);
                Ok(now + timeout.min(interval))
            }
        }
    }

    pub(super) fn on_bytes(&mut self) {
        self.heard = true;
        self.sent_since_heard = false;
    }
}
