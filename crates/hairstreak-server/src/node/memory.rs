//! How much memory the machine has, and so how much of it messages may take.

use std::fs;

/// The part of the memory that messages may take: 2 of 5, as in RabbitMQ.
const WATERMARK_PART: (usize, usize) = (2, 5);
/// The assumed memory of a machine that does not tell its own.
const UNKNOWN_BYTES: usize = 1 << 30;

/// Bytes at which publishers are stopped, unless configured.
pub(crate) fn default_watermark() -> usize {
    let bytes = [cgroup_limit(), machine_bytes()].into_iter().flatten().min().unwrap_or(UNKNOWN_BYTES);
    bytes / WATERMARK_PART.1 * WATERMARK_PART.0
}

/// The limit of the container, if there is one.
fn cgroup_limit() -> Option<usize> {
    let places = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    places.iter().find_map(|place| fs::read_to_string(place).ok()?.trim().parse().ok())
}

fn machine_bytes() -> Option<usize> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    kibibytes(&text, "MemTotal:").map(|count| count * 1024)
}

fn kibibytes(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_how_much_memory_it_has() {
        assert_eq!(kibibytes("MemTotal:       1234 kB\nMemFree: 5 kB\n", "MemTotal:"), Some(1234));
        assert_eq!(kibibytes("MemFree: 5 kB\n", "MemTotal:"), None);
        assert!(default_watermark() > 1 << 26);
    }
}
