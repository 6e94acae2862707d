//! `Address`: where a connection lives, for mail to it.

/// A connection of some loop. An address stays valid for as long as its connection lives; mail to a connection that
/// has ended is dropped. The default is the first connection of the first loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Address {
    pub(super) loop_index: u32,
    pub(super) index: u32,
    /// Tells the connection from another one that has its index later.
    pub(super) serial: u32,
}

impl Address {
    /// The loop that owns the connection, counted from 0.
    pub fn loop_index(self) -> usize {
        self.loop_index as usize
    }
}
