//! Processor time, context switches and memory of another process, read from `/proc`.

use std::fs;
use std::io;

/// Ticks of the kernel's count of processor time in a second (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// Processor time, context switches and memory of a process since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUse {
    /// User time of all threads.
    pub user_s: f64,
    /// System time of all threads.
    pub system_s: f64,
    /// Times a thread that is still there gave up the processor to wait.
    pub voluntary_switches: u64,
    /// Bytes in memory now.
    pub resident_bytes: u64,
}

impl ProcessUse {
    /// Reads it, from `/proc`.
    pub fn of(process_id: u32) -> Result<ProcessUse, io::Error> {
        let directory = format!("/proc/{process_id}");
        let stat = fs::read_to_string(format!("{directory}/stat"))?;
        let status = fs::read_to_string(format!("{directory}/status"))?;
        let missing = || io::Error::other(format!("{directory} has not what it should"));
        let (user_s, system_s) = times(&stat).ok_or_else(missing)?;
        let resident_bytes = 1024 * field(&status, "VmRSS:").ok_or_else(missing)?;
        let mut voluntary_switches = 0;
        for thread in fs::read_dir(format!("{directory}/task"))? {
            // A thread may end at any time.
            let status = fs::read_to_string(thread?.path().join("status")).unwrap_or_default();
            voluntary_switches += field(&status, "voluntary_ctxt_switches:").unwrap_or_default();
        }
        Ok(ProcessUse { user_s, system_s, voluntary_switches, resident_bytes })
    }

    /// The use between `earlier` and this reading; memory is that of this reading.
    pub fn since(&self, earlier: &ProcessUse) -> ProcessUse {
        ProcessUse {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            resident_bytes: self.resident_bytes,
        }
    }
}

/// User and system time: fields 14 and 15 of `stat`, of which the second is a name in parentheses (proc(5)).
fn times(stat: &str) -> Option<(f64, f64)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut ticks = rest.split(' ').skip(11).map_while(|field| field.parse::<f64>().ok());
    Some((ticks.next()? / TICKS_PER_S, ticks.next()? / TICKS_PER_S))
}

fn field(status: &str, name: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{ProcessUse, field, times};

    #[test]
    fn times_stand_behind_a_name_that_may_hold_anything() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 5\n";
        assert_eq!(times(stat), Some((2.5, 0.5)));
        assert_eq!(times("7 (a"), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status = "VmRSS:\t    12 kB\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(field(status, "VmRSS:"), Some(12));
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some(3));
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(ProcessUse::of(std::process::id()).unwrap().resident_bytes > 0);
        assert!(ProcessUse::of(u32::MAX).is_err());
    }
}
