//! `LockHolder`: the process that holds a data directory, as named in the lock's file.

use std::fmt;
use std::fs::File;
use std::io::Read;

/// Limit of the text, in bytes. A process id and a host name (64 bytes on Linux) are shorter.
const HOLDER_SIZE_MAX: u64 = 128;

/// The process that holds a data directory, as far as the lock's file names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    /// Process id, in the process namespace of the host or container.
    pub process: Option<u32>,
    /// Name of the host or container, unless it is this one.
    pub host: Option<String>,
}

impl LockHolder {
    /// Returns the text for this process.
    pub(super) fn own_text() -> String {
        format!("{} {}\n", std::process::id(), host_name())
    }

    pub(super) fn read(file: &mut File) -> LockHolder {
        let mut text = String::new();
        // An unreadable text names no process.
        let _ = file.take(HOLDER_SIZE_MAX).read_to_string(&mut text);
        LockHolder::parse(&text, &host_name())
    }

    fn parse(text: &str, own_host: &str) -> LockHolder {
        let mut words = text.split_whitespace();
        let process = words.next().and_then(|word| word.parse().ok());
        let host = words.next().filter(|host| *host != own_host).map(str::to_owned);
        LockHolder { process, host }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(f, "process {process}")?,
            None => f.write_str("another process")?,
        }
        match &self.host {
            Some(host) => write!(f, " of {host}"),
            None => Ok(()),
        }
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_named_by_process_and_by_host_if_that_is_another_one() {
        let said = |text| LockHolder::parse(text, "here").to_string();
        assert_eq!(said("12 here\n"), "process 12");
        assert_eq!(said("12 there\n"), "process 12 of there");
        assert_eq!(said("12"), "process 12");
        assert_eq!(said(""), "another process");
        assert_eq!(said("x"), "another process");
    }
}
