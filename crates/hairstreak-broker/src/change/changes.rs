//! `Changes`: the changes since whoever writes them to disk last took them.

use super::change::Change;

/// The changes so far, in their order. Nothing is recorded at first.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    is_recording: bool,
    changes: Vec<Change>,
}

impl Changes {
    /// Whether changes are recorded from now on. Returns whether they were before.
    pub(crate) fn record(&mut self, is_recording: bool) -> bool {
        std::mem::replace(&mut self.is_recording, is_recording)
    }

    /// Whether changes are recorded.
    pub(crate) fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Records a change of an object, if the object is durable.
    pub(crate) fn note(&mut self, is_durable: bool, change: impl FnOnce() -> Change) {
        if self.is_recording && is_durable {
            self.changes.push(change());
        }
    }

    /// Records a change.
    pub(crate) fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Takes the changes.
    pub(crate) fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }
}
