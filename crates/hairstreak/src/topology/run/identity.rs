//! `Identity`: which file it is, whatever path or link leads to it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Which regular file it is: the device and the number there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// `None` for what keeps nothing that writing could destroy: a pipe, a terminal.
    pub(super) fn of(file: &Metadata) -> Option<Identity> {
        file.is_file().then(|| Identity { device: file.dev(), inode: file.ino() })
    }
}
