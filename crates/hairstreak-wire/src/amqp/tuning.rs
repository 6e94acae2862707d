//! `Tuning`: the limits that connection.tune proposes and connection.tune-ok settles.

use super::frame::FRAME_SIZE_MIN;
use super::method::connection::{Tune, TuneOk};
use super::reply_code::ReplyCode;
use crate::Blame;

const CHANNEL_LIMIT: &str = "channel_max";

/// The limits of a connection. Zero: no limit, no heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The highest channel number.
    pub channel_max: u16,
    /// The largest frame in bytes, header and end included.
    pub frame_max: u32,
    /// The interval of heartbeats in seconds.
    pub heartbeat: u16,
}

/// A client answers with a limit that the server does not allow. The text is RabbitMQ's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TuningError {
    /// The limit is too low.
    #[error("negotiated {field} = {value} is lower than the minimum allowed value ({minimum})")]
    TooLow {
        /// The name of the limit.
        field: &'static str,
        /// The client's value.
        value: u32,
        /// The lowest allowed value.
        minimum: u32,
    },
    /// The limit is too high, or the client wants no limit although the server has one.
    #[error("negotiated {field} = {value}{} is higher than the maximum allowed value ({maximum})", no_limit(.field, .value))]
    TooHigh {
        /// The name of the limit.
        field: &'static str,
        /// The client's value; 0: no limit.
        value: u32,
        /// The highest allowed value.
        maximum: u32,
    },
}

impl TuningError {
    /// Returns the reply code of the close that answers the error.
    pub fn reply_code(&self) -> ReplyCode {
        ReplyCode::NotAllowed
    }

    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// Returns RabbitMQ's explanation of zero, which it gives only for this limit.
fn no_limit(field: &str, value: &u32) -> &'static str {
    if field == CHANNEL_LIMIT && *value == 0 { " (no limit)" } else { "" }
}

impl Tuning {
    /// Returns the server's proposal.
    pub fn tune(self) -> Tune {
        let Tuning { channel_max, frame_max, heartbeat } = self;
        Tune { channel_max, frame_max, heartbeat }
    }

    /// Returns the client's answer.
    pub fn tune_ok(self) -> TuneOk {
        let Tuning { channel_max, frame_max, heartbeat } = self;
        TuneOk { channel_max, frame_max, heartbeat }
    }

    /// Returns the answer of a client with the limits `self` to a server that proposes `tune`: the lower of each two
    /// limits. If one side has no limit, the other's applies.
    pub fn answer(self, tune: &Tune) -> Tuning {
        Tuning {
            channel_max: lower(self.channel_max.into(), tune.channel_max.into()) as u16,
            frame_max: match lower(self.frame_max, tune.frame_max) {
                0 => 0,
                frame_max => frame_max.max(FRAME_SIZE_MIN as u32),
            },
            heartbeat: lower(self.heartbeat.into(), tune.heartbeat.into()) as u16,
        }
    }

    /// Returns the limits of a server that proposed `self` when the client answers `tune_ok`.
    pub fn settle(self, tune_ok: &TuneOk) -> Result<Tuning, TuningError> {
        check("frame_max", FRAME_SIZE_MIN as u32, self.frame_max, tune_ok.frame_max)?;
        check(CHANNEL_LIMIT, 1, self.channel_max.into(), tune_ok.channel_max.into())?;
        let TuneOk { channel_max, frame_max, heartbeat } = *tune_ok;
        Ok(Tuning { channel_max, frame_max, heartbeat })
    }
}

/// Returns the lower of two limits, of which 0 is none.
fn lower(one: u32, other: u32) -> u32 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

fn check(field: &'static str, minimum: u32, maximum: u32, value: u32) -> Result<(), TuningError> {
    if value != 0 && value < minimum {
        return Err(TuningError::TooLow { field, value, minimum });
    }
    if maximum != 0 && (value == 0 || value > maximum) {
        return Err(TuningError::TooHigh { field, value, maximum });
    }
    Ok(())
}
