//! `Refusal`: a client's answer in place of a reply. The codes are HTTP's where one fits, as MMI's are.

/// Reason for a missing reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// 400: the request breaks a rule of the protocol.
    Malformed,
    /// 403: the user is not permitted to do that.
    AccessRefused,
    /// 429: the client has more open numbers than the broker tracks.
    TooManyOpen,
    /// 500: the worker reports a failure.
    Failed,
    /// 501: the broker has no such service of its own.
    NotImplemented,
    /// 502: several workers had the request, and each disappeared before answering.
    GivenUp,
    /// 503: the queue of the service is full.
    Full,
    /// 504: no reply arrived in time.
    Expired,
    /// A code of a later version.
    Other(u16),
}

impl Refusal {
    /// Returns the number on the wire.
    pub fn code(self) -> u16 {
        match self {
            Refusal::Malformed => 400,
            Refusal::AccessRefused => 403,
            Refusal::TooManyOpen => 429,
            Refusal::Failed => 500,
            Refusal::NotImplemented => 501,
            Refusal::GivenUp => 502,
            Refusal::Full => 503,
            Refusal::Expired => 504,
            Refusal::Other(code) => code,
        }
    }
}

impl From<u16> for Refusal {
    fn from(code: u16) -> Refusal {
        match code {
            400 => Refusal::Malformed,
            403 => Refusal::AccessRefused,
            429 => Refusal::TooManyOpen,
            500 => Refusal::Failed,
            501 => Refusal::NotImplemented,
            502 => Refusal::GivenUp,
            503 => Refusal::Full,
            504 => Refusal::Expired,
            other => Refusal::Other(other),
        }
    }
}
