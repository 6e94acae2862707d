//! `Reached`: how far a log is, and `Awaited`: how far it has to be.

use hairstreak_broker::queue::Durability;
use hairstreak_store::log::Progress;

/// A position of the log, and the durability that its messages have to have there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The position.
    pub position: u64,
    /// The durability.
    pub durability: Durability,
}

/// The last positions that the log has written and synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The last written position.
    pub written: u64,
    /// The last synced position.
    pub synced: u64,
}

impl Reached {
    /// The positions of a log.
    pub fn of(progress: &Progress) -> Reached {
        Reached { written: progress.written, synced: progress.synced }
    }

    /// Returns true if the log is as far as `awaited` says.
    #[inline]
    pub fn has(&self, awaited: Awaited) -> bool {
        match awaited.durability {
            Durability::Memory => true,
            Durability::Written => awaited.position <= self.written,
            Durability::Synced => awaited.position <= self.synced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_durability_waits_for_its_own_progress() {
        let reached = Reached { written: 5, synced: 3 };
        let has = |position, durability| reached.has(Awaited { position, durability });
        assert!(has(9, Durability::Memory));
        assert!(has(5, Durability::Written) && !has(6, Durability::Written));
        assert!(has(3, Durability::Synced) && !has(4, Durability::Synced));
    }
}
