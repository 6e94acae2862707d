//! How much memory a host can give to a run.

use std::fs;

/// The assumed memory of a host that does not tell its own.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// Bytes that new programs can use without swapping, within the container's limit.
pub fn available_bytes() -> u64 {
    let host = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes(&text, "MemAvailable:"));
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok();
    let container =
        read("memory.max").map(|most: u64| most.saturating_sub(read("memory.current").unwrap_or(0)));
    [host.map(|count| count * 1024), container].into_iter().flatten().min().unwrap_or(UNKNOWN_BYTES)
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{available_bytes, kibibytes};

    #[test]
    fn the_host_says_how_much_memory_is_available() {
        assert_eq!(kibibytes("MemFree: 5 kB\nMemAvailable:   77 kB\n", "MemAvailable:"), Some(77));
        assert_eq!(kibibytes("MemFree: 5 kB\n", "MemAvailable:"), None);
        assert!(available_bytes() > 1 << 20);
    }
}
