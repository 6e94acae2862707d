//! `Interest`, what to wait for, and `Ready`, what was found.

/// What to wait for. With neither, a socket is still reported when it is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// A receive would return at once.
    pub readable: bool,
    /// A send would return at once.
    pub writable: bool,
}

impl Interest {
    /// Nothing, for now.
    pub const NONE: Interest = Interest { readable: false, writable: false };
    /// A receive would return at once.
    pub const READABLE: Interest = Interest { readable: true, writable: false };
    /// A send would return at once.
    pub const WRITABLE: Interest = Interest { readable: false, writable: true };
    /// Either.
    pub const BOTH: Interest = Interest { readable: true, writable: true };
}

/// What a wait has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// As it was registered.
    pub key: usize,
    /// Something can be received, or read.
    pub readable: bool,
    /// Something can be sent, or written.
    pub writable: bool,
    /// The socket is closed; the descriptor has an error or its peer has hung up. Told until it is removed.
    pub closed: bool,
    /// The time has come. It is not registered any more.
    pub expired: bool,
}

impl Ready {
    pub(super) fn is_anything(&self) -> bool {
        self.readable || self.writable || self.closed || self.expired
    }
}
