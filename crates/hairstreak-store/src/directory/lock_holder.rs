//! `LockHolder`: the process that holds a data directory, as the text of the lock's file says it.

use std::fmt;
use std::fs::File;
use std::io::Read;

/// A process id and the name of a host (64 bytes on Linux) are shorter.
const HOLDER_SIZE_MAX: u64 = 128;

/// The process that holds a data directory, as far as the directory says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id, in the process namespace of its host or container.
    pub process: Option<u32>,
    /// The name of its host or container, unless that is this one.
    pub host: Option<String>,
}

impl LockHolder {
    /// The text for this process.
    pub(super) fn own_text() -> String {
        format!("{} {}\n", std::process::id(), host_name())
    }

    pub(super) fn read(file: &mut File) -> LockHolder {
        let mut text = String::new();
        // A text that cannot be read names nobody.
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
