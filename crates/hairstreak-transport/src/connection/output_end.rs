//! `OutputEnd`: how far this side is with saying that it writes nothing more.

/// Whether this side has said that it writes nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputEnd {
    Open,
    /// As soon as all is written.
    Wanted,
    Said,
}
