//! Figures of the operating system about the process: memory, descriptors, threads, disk.

use std::fs;
use std::path::Path;

/// The memory of the process, in bytes.
pub fn memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    pages.unwrap_or_default() * rustix::param::page_size() as u64
}

/// The file descriptors in use.
pub fn descriptor_count() -> u64 {
    // The listing has one of its own.
    fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count().saturating_sub(1) as u64)
}

/// The file descriptors that the process may have.
pub fn descriptor_limit() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::from(u32::MAX))
}

/// The threads of the process.
pub fn thread_count() -> u64 {
    fs::read_dir("/proc/self/task").map_or(0, |entries| entries.count() as u64)
}

/// The bytes that are free on the disk of a directory; on the root's without one.
pub fn disk_free_bytes(directory: Option<&Path>) -> u64 {
    let place = directory.unwrap_or(Path::new("/"));
    rustix::fs::statvfs(place).map_or(0, |disk| disk.f_bavail * disk.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_has_memory_descriptors_and_threads() {
        assert!(memory_bytes() > 1 << 20, "{}", memory_bytes());
        let before = descriptor_count();
        let files: Vec<_> = (0..50).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        assert!(descriptor_count() > before + 25, "{before}");
        drop(files);
        assert!(descriptor_limit() > descriptor_count());
        assert!(thread_count() >= 1);
        assert!(disk_free_bytes(None) > 0);
    }
}
