//! The direct messages between a sink and its ventilator. Each has one frame, from DEALER to ROUTER and back.
//!
//! ```text
//! HELLO    1                                               sink to ventilator, first
//! STOP     2                                               sink to ventilator: no more tasks
//! PAUSE    3                                               sink to ventilator: no tasks for now
//! RESUME   4                                               sink to ventilator: tasks again
//! FLOOR   11 | epoch (8) | sequence (8)                    ventilator to sink
//! END     12 | epoch (8) | count (8) | rejected (8)        ventilator to sink
//! LEFT    14 | epoch (8) | sequence (8) | runs             ventilator to sink
//! TASKS   13 | endpoint                                    ventilator to sink: the address that takes X-DONE
//! REFUSED 15 | epoch (8) | runs, at least one              ventilator to sink
//! ```
//!
//! All numbers are big endian. A run is sequence (8) | count (8), with a count of at least 1.
//!
//! - LEFT: of all tasks below the given one, those of the runs, ascending, are not settled; all others are.
//! - REFUSED: the tasks of the runs, in any order, were rejected or given up since the last REFUSED.
//! - FLOOR: all tasks below the given one are settled. No further result of them will arrive.
//! - END: every task is settled. There were `count` in all; `rejected` of them have no result because they were
//!   rejected or given up.

use super::task::TaskId;

/// A message between sink and ventilator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlMessage<'a> {
    /// A sink has connected.
    Hello,
    /// The sink asks the ventilator to stop for good.
    Stop,
    /// The sink asks the ventilator to pause.
    Pause,
    /// The sink wants tasks again.
    Resume,
    /// All tasks below this one are settled.
    Floor(TaskId),
    /// All tasks are settled.
    End {
        /// Epoch of the source.
        epoch: u64,
        /// Number of tasks.
        count: u64,
        /// Number of tasks that were rejected or given up.
        rejected: u64,
    },
    /// Unsettled tasks below the first new one, sent to a new sink.
    Left(TaskId, SequenceRuns<'a>),
    /// Tasks of the source with this epoch that were rejected or given up. Their results are no longer wanted.
    Refused(u64, SequenceRuns<'a>),
    /// Address at which the ventilator hands out tasks and takes reports of completed ones. An unspecified host means
    /// the host of this connection.
    Tasks(&'a str),
}

/// Tasks of one source: the sequence number of the first task of each run, and the number of tasks in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceRuns<'a>(&'a [[u8; 16]]);

impl Iterator for SequenceRuns<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let (run, rest) = self.0.split_first()?;
        self.0 = rest;
        let [first, count] = [0, 8].map(|at| run[at..at + 8].try_into().map_or(0, u64::from_be_bytes));
        Some((first, count))
    }
}

impl<'a> SequenceRuns<'a> {
    /// Wraps the output of [`SequenceRuns::encode`].
    pub fn of(runs: &'a [[u8; 16]]) -> SequenceRuns<'a> {
        SequenceRuns(runs)
    }

    fn decode(bytes: &'a [u8]) -> Option<SequenceRuns<'a>> {
        let (runs, rest) = bytes.as_chunks();
        let runs = SequenceRuns(runs);
        (rest.is_empty() && { runs }.all(|(_, count)| count > 0)).then_some(runs)
    }

    /// Encodes runs of tasks.
    pub fn encode(runs: impl Iterator<Item = (u64, u64)>) -> Vec<[u8; 16]> {
        runs.map(|(first, count)| (u128::from(first) << 64 | u128::from(count)).to_be_bytes()).collect()
    }
}

impl<'a> ControlMessage<'a> {
    /// Returns the message's only frame.
    pub fn encode(self) -> Vec<u8> {
        let with = |kind: u8, numbers: &[u64]| {
            let mut bytes = vec![kind];
            numbers.iter().for_each(|number| bytes.extend(number.to_be_bytes()));
            bytes
        };
        match self {
            ControlMessage::Hello => with(1, &[]),
            ControlMessage::Stop => with(2, &[]),
            ControlMessage::Pause => with(3, &[]),
            ControlMessage::Resume => with(4, &[]),
            ControlMessage::Floor(TaskId { epoch, sequence }) => with(11, &[epoch, sequence]),
            ControlMessage::End { epoch, count, rejected } => with(12, &[epoch, count, rejected]),
            ControlMessage::Left(TaskId { epoch, sequence }, SequenceRuns(runs)) => {
                [with(14, &[epoch, sequence]), runs.concat()].concat()
            }
            ControlMessage::Refused(epoch, SequenceRuns(runs)) => {
                [with(15, &[epoch]), runs.concat()].concat()
            }
            ControlMessage::Tasks(endpoint) => [&[13], endpoint.as_bytes()].concat(),
        }
    }

    /// Decodes a frame. `None` if it is not such a message.
    pub fn decode(frame: &'a [u8]) -> Option<ControlMessage<'a>> {
        let (&kind, rest) = frame.split_first()?;
        if kind == 13 {
            return std::str::from_utf8(rest).ok().map(ControlMessage::Tasks);
        }
        if kind == 14 || kind == 15 {
            let (epoch, rest) = rest.split_first_chunk::<8>()?;
            let epoch = u64::from_be_bytes(*epoch);
            if kind == 15 {
                let runs = SequenceRuns::decode(rest).filter(|runs| !runs.0.is_empty())?;
                return Some(ControlMessage::Refused(epoch, runs));
            }
            let (sequence, rest) = rest.split_first_chunk::<8>()?;
            let next = TaskId { epoch, sequence: u64::from_be_bytes(*sequence) };
            return Some(ControlMessage::Left(next, SequenceRuns::decode(rest)?));
        }
        let (numbers, rest) = rest.as_chunks::<8>();
        let number = |at: usize| numbers.get(at).map(|bytes| u64::from_be_bytes(*bytes));
        if !rest.is_empty() {
            return None;
        }
        Some(match (kind, numbers.len()) {
            (1, 0) => ControlMessage::Hello,
            (2, 0) => ControlMessage::Stop,
            (3, 0) => ControlMessage::Pause,
            (4, 0) => ControlMessage::Resume,
            (11, 2) => ControlMessage::Floor(TaskId { epoch: number(0)?, sequence: number(1)? }),
            (12, 3) => ControlMessage::End { epoch: number(0)?, count: number(1)?, rejected: number(2)? },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were_sent_and_nothing_else_is_one() {
        let id = TaskId { epoch: 1, sequence: 2 };
        let all = [
            ControlMessage::Hello,
            ControlMessage::Stop,
            ControlMessage::Pause,
            ControlMessage::Resume,
            ControlMessage::Floor(id),
            ControlMessage::End { epoch: 3, count: 4, rejected: u64::MAX },
        ];
        for message in all {
            let bytes = message.encode();
            assert_eq!(ControlMessage::decode(&bytes), Some(message));
            assert_eq!(ControlMessage::decode(&bytes[..bytes.len() - 1]), None);
            assert_eq!(ControlMessage::decode(&[&bytes[..], &[0]].concat()), None);
        }
        assert_eq!(all[4].encode(), [11, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(ControlMessage::decode(&[5]), None);
        let runs = SequenceRuns::encode([(3, 1), (9, u64::MAX)].into_iter());
        let left = ControlMessage::Left(id, SequenceRuns::of(&runs));
        let bytes = left.encode();
        assert_eq!((bytes.len(), ControlMessage::decode(&bytes)), (49, Some(left)));
        assert_eq!(ControlMessage::decode(&bytes[..40]), None);
        let Some(ControlMessage::Left(_, tasks)) = ControlMessage::decode(&bytes) else { panic!() };
        assert_eq!(tasks.collect::<Vec<_>>(), [(3, 1), (9, u64::MAX)]);
        let refused = ControlMessage::Refused(7, SequenceRuns::of(&runs));
        let bytes = refused.encode();
        assert_eq!(bytes[..10], [15, 0, 0, 0, 0, 0, 0, 0, 7, 0]);
        assert_eq!((bytes.len(), ControlMessage::decode(&bytes)), (41, Some(refused)));
        let nothing = SequenceRuns::encode([(3, 0)].into_iter());
        assert_eq!(ControlMessage::decode(&[&bytes[..], &nothing[0]].concat()), None, "a run of no task");
        for size in (0..41).filter(|size| *size != 25) {
            assert_eq!(ControlMessage::decode(&bytes[..size]), None, "{size} bytes of it");
        }
        let tasks = ControlMessage::Tasks("tcp://*:1");
        assert_eq!(tasks.encode(), b"\x0dtcp://*:1");
        assert_eq!(ControlMessage::decode(&tasks.encode()), Some(tasks));
        assert_eq!(ControlMessage::decode(b"\x0d\xff"), None);
    }
}
