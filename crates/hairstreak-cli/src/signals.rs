//! The signals that end a command: in order at the first, at once at the second.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::signal_name;

/// SIGINT, SIGTERM and, unless it was started to outlive its terminal as by nohup, SIGHUP.
pub fn ending() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    signals.extend((!is_ignored(SIGHUP)).then_some(SIGHUP));
    signals
}

pub fn name(signal: i32) -> &'static str {
    signal_name(signal).unwrap_or("a signal")
}

/// As the process was started (proc(5), `SigIgn`).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
