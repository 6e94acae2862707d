//! `Barriers`: positions of the message log that are not confirmed before definitions are on disk.
//!
//! A client may publish to a queue that another client has just declared. Its message may be on disk before the definition of the
//! queue is. A start would drop such a message, and so its confirm waits for the definitions that were under way when the message
//! was handed over. All later positions wait as well.

use super::reached::Reached;

/// The held positions, and how far the log is.
#[derive(Debug, Default)]
pub struct Barriers {
    /// Positions in their order, each with the number of the definitions that it waits for.
    held: Vec<(u64, u64)>,
    reached: Reached,
}

impl Barriers {
    /// Holds a position, which is later than all before, until the definitions with that number are on disk. Returns false if an
    /// earlier position waits for the same definitions.
    pub fn hold(&mut self, position: u64, definitions: u64) -> bool {
        let is_new = !self.held.iter().any(|(_, awaited)| *awaited == definitions);
        if is_new {
            self.held.push((position, definitions));
        }
        is_new
    }

    /// The definitions up to that number are on disk, or were refused and taken back.
    pub fn release(&mut self, definitions: u64) {
        self.held.retain(|(_, awaited)| *awaited > definitions);
    }

    /// Notes how far the log is.
    pub fn note(&mut self, reached: Reached) {
        self.reached = reached;
    }

    /// How far the log is.
    #[cfg(test)]
    pub fn reached(&self) -> Reached {
        self.reached
    }

    /// Returns the last positions that may be confirmed.
    pub fn confirmable(&self) -> Reached {
        let Reached { written, synced } = self.reached;
        let last = self.held.first().map_or(u64::MAX, |(position, _)| position - 1);
        Reached { written: written.min(last), synced: synced.min(last) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use hairstreak_broker::vhost::LogChange;
    use hairstreak_store::log::Batch;
    use hairstreak_store::{DataDirectory, DefinitionStore};
    use hairstreak_testkit::{until, until_eq};

    use super::*;
    use crate::definitions::{Change, Kind, Place};
    use crate::node::{Account, Journal, Messages};

    #[test]
    fn a_position_waits_for_its_definitions_and_holds_later_ones() {
        let reached = |written, synced| Reached { written, synced };
        let mut barriers = Barriers::default();
        barriers.note(reached(3, 2));
        assert_eq!(barriers.confirmable(), reached(3, 2));
        assert!(barriers.hold(5, 1) && !barriers.hold(6, 1) && barriers.hold(7, 2));
        barriers.note(reached(5, 4));
        assert_eq!(barriers.confirmable(), reached(4, 4));
        barriers.note(reached(9, 9));
        assert_eq!(barriers.confirmable(), reached(4, 4));
        barriers.release(1);
        assert_eq!(barriers.confirmable(), reached(6, 6));
        barriers.release(2);
        assert_eq!(barriers.confirmable(), reached(9, 9));
    }

    #[test]
    fn a_synced_message_is_not_confirmed_before_definitions_under_way() {
        let folder = std::env::temp_dir().join(format!("hairstreak-barriers-{}", std::process::id()));
        let directory = DataDirectory::open(&folder, "test").unwrap();
        let (store, _) = DefinitionStore::open(&directory).unwrap();
        let journal = Journal::on(store);
        let account = Arc::new(Account::new(usize::MAX));
        let (messages, _) = Messages::open(&directory, Duration::ZERO, |_| true, 0, (account, 0)).unwrap();
        let hand_over = || {
            let mut changes = vec![LogChange::Forgotten { queue: 1 }];
            let mut batch = Batch::default();
            batch.want_sync();
            let position = messages.hand_over(&mut batch, &mut changes, &journal).unwrap();
            messages.wake();
            position
        };
        let first = hand_over();
        until_eq("nothing is under way", first, || messages.reached().synced);
        // The thread of the definitions is busy.
        let (open, gate) = mpsc::channel::<()>();
        journal.submit(Vec::new(), move |_| gate.recv().unwrap_or_default());
        let place = || Change::Delete(Place::new(Kind::Queue, &[b"/", b"q"]));
        journal.submit(vec![place()], |_| {});
        let held = hand_over();
        until_eq("the message is on disk", held, || messages.log_reached().synced);
        assert_eq!(messages.reached().synced, first);
        drop(open);
        until_eq("the definitions are on disk", held, || messages.reached().synced);
        until("nothing is under way", || journal.pending().is_none());
        let last = hand_over();
        until_eq("the message is on disk", last, || messages.reached().synced);
        messages.close().unwrap();
        journal.close().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
