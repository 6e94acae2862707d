//! The memory and descriptors of this process.

use std::fs;

/// Bytes of memory in use (resident).
pub fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size()
}

/// Open descriptors.
pub fn descriptor_count() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
