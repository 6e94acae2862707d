//! `SeenTasks`: the tasks whose results a sink's application has had. If they are stored together with the results, a
//! restarted sink goes on at the same point.
//!
//! The encoding, in which all numbers are big endian:
//!
//! ```text
//! version (1): 2
//! for each source:  epoch (8) | tasks with results (8) | further results of these (8) | range count (4)
//!                   ranges: first (8), behind the last (8)
//! ```
//!
//! Sources are in the order in which they were last heard of; ranges ascend, are not empty and do not touch.

use hairstreak_socket::settlement::Ranges;
use thiserror::Error;

/// The version of the bytes.
const VERSION: u8 = 2;

/// The tasks whose results the application of a sink has had: see [`Sink::seen`](super::Sink::seen). For each
/// ventilator that the sink has heard of, there is at most one range for each task of the window, and one more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenTasks {
    pub(super) sources: Vec<SeenSource>,
}

/// The seen tasks of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenSource {
    pub epoch: u64,
    /// Number of tasks with results. A seen task may have had none.
    pub count: u64,
    /// Number of further results: those after the first of each task.
    pub further_count: u64,
    pub ranges: Ranges,
}

/// An error of decoding [`SeenTasks`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SeenTasksError {
    /// The bytes have another version.
    #[error("what the sink has seen is stored in an unknown version ({0:?})")]
    Version(Option<u8>),
    /// The bytes end too early.
    #[error("what the sink has seen is cut off after {0} bytes")]
    CutOff(usize),
    /// A range overlaps another, or is empty.
    #[error("what the sink has seen contains the tasks {first} to {end} out of order")]
    Range {
        /// The first task of the range.
        first: u64,
        /// The task behind the range.
        end: u64,
    },
}

impl SeenTasks {
    /// Returns the bytes to be stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for SeenSource { epoch, count, further_count, ranges } in &self.sources {
            bytes.extend(epoch.to_be_bytes());
            bytes.extend(count.to_be_bytes());
            bytes.extend(further_count.to_be_bytes());
            bytes.extend((ranges.range_count() as u32).to_be_bytes());
            for range in ranges.iter() {
                bytes.extend(range.start.to_be_bytes());
                bytes.extend(range.end.to_be_bytes());
            }
        }
        bytes
    }

    /// Decodes stored bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<SeenTasks, SeenTasksError> {
        let (&version, mut rest) = bytes.split_first().ok_or(SeenTasksError::Version(None))?;
        if version != VERSION {
            return Err(SeenTasksError::Version(Some(version)));
        }
        let mut sources = Vec::new();
        let number = |rest: &mut &[u8]| {
            let (number, behind) = rest.split_first_chunk().ok_or(SeenTasksError::CutOff(bytes.len()))?;
            *rest = behind;
            Ok(u64::from_be_bytes(*number))
        };
        while !rest.is_empty() {
            let [epoch, count, further_count] = [number(&mut rest)?, number(&mut rest)?, number(&mut rest)?];
            let range_count = rest.split_first_chunk().ok_or(SeenTasksError::CutOff(bytes.len()))?;
            rest = range_count.1;
            let mut ranges = Ranges::new();
            let mut behind = None;
            for _ in 0..u32::from_be_bytes(*range_count.0) {
                let (first, end) = (number(&mut rest)?, number(&mut rest)?);
                if first >= end || behind.is_some_and(|behind| first <= behind) {
                    return Err(SeenTasksError::Range { first, end });
                }
                ranges.insert(first..end);
                behind = Some(end);
            }
            sources.push(SeenSource { epoch, count, further_count, ranges });
        }
        Ok(SeenTasks { sources })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> SeenTasks {
        let source = |epoch, all: &[(u64, u64)]| {
            let mut ranges = Ranges::new();
            all.iter().for_each(|&(first, end)| assert!(ranges.insert(first..end)));
            SeenSource { epoch, count: 3, further_count: 2, ranges }
        };
        SeenTasks { sources: vec![source(7, &[]), source(u64::MAX, &[(0, 5), (6, 7), (9, u64::MAX)])] }
    }

    #[test]
    fn it_comes_back_as_it_was_stored() {
        for seen in [SeenTasks::default(), seen()] {
            assert_eq!(SeenTasks::from_bytes(&seen.to_bytes()), Ok(seen));
        }
        assert_eq!(SeenTasks::default().to_bytes(), [2]);
    }

    #[test]
    fn bytes_that_are_cut_off_or_changed_are_refused() {
        let bytes = seen().to_bytes();
        let whole = [1, 29];
        for size in (0..bytes.len()).filter(|size| !whole.contains(size)) {
            let error = if size == 0 { SeenTasksError::Version(None) } else { SeenTasksError::CutOff(size) };
            assert_eq!(SeenTasks::from_bytes(&bytes[..size]), Err(error));
        }
        assert_eq!(SeenTasks::from_bytes(&[1]), Err(SeenTasksError::Version(Some(1))));
        let with = |first: u64, end: u64| {
            let mut bytes = bytes.clone();
            let at = bytes.len() - 32;
            bytes[at..at + 8].copy_from_slice(&first.to_be_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&end.to_be_bytes());
            SeenTasks::from_bytes(&bytes)
        };
        assert_eq!(with(6, 8).map(|_| ()), Ok(()));
        for (first, end) in [(6, 6), (7, 6), (5, 7), (4, 7)] {
            assert_eq!(with(first, end), Err(SeenTasksError::Range { first, end }));
        }
    }
}
