//! Whether the peer lives: commands answered, PINGs sent, silence noticed.

use std::time::{Duration, Instant};

use hairstreak_base::Bytes;
use hairstreak_transport::Silent;
use hairstreak_wire::zmtp::{Command, command};

use super::error::SessionError;
use super::zmtp::Session;

/// When to look again where there is nothing to look for.
const NEVER: Duration = Duration::from_secs(3600);
/// Answers queued for a peer that sends commands and does not read; further ones are not sent.
const CONTROL_BYTES_MAX: usize = 64 * 1024;

impl Session {
    /// Answers a command; what it says about the connection's health is kept. A subscription is returned
    /// as the message that it stands for.
    pub(super) fn on_command(&mut self, body: &[u8]) -> Result<Option<Bytes>, SessionError> {
        match command::parse_traffic(body)? {
            Command::Subscribe { prefix } if self.limits.subscriptions => {
                return Ok(Some(Bytes::from_vec([&[1], prefix].concat())));
            }
            Command::Cancel { prefix } if self.limits.subscriptions => {
                return Ok(Some(Bytes::from_vec([&[0], prefix].concat())));
            }
            Command::Ping { context, .. } if self.connection.output.queued_bytes() < CONTROL_BYTES_MAX => {
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
    /// again. [`Connection::look_for_life`](hairstreak_transport::Connection::look_for_life) says what a sign of life is.
    ///
    /// A peer of ZMTP 3.0, or of plain TCP, answers no PING: its kernel is asked instead (`SO_KEEPALIVE`).
    pub fn run_heartbeat(
        &mut self,
        now: Instant,
        interval: Duration,
        timeout: Duration,
    ) -> Result<Instant, SessionError> {
        if interval.is_zero() {
            return Ok(now + NEVER);
        }
        if self.minor == 0 {
            // A kernel that refuses leaves things as they are.
            let _ = self.connection.stream().keep_alive(interval, timeout);
            return Ok(now + NEVER);
        }
        let (is_backlogged, owes) = (self.is_backlogged(), self.settles_received());
        let look = self.connection.look_for_life(now, interval, timeout, is_backlogged, owes);
        let look = look.map_err(|Silent| SessionError::Silent)?;
        if look.asks {
            // Without a time to live (as libzmq): while we do not read, we do not PING either.
            self.send_ping(Duration::ZERO);
        }
        Ok(look.again)
    }
}
