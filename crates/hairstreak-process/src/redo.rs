//! `Redo`: the unanswered records of processes that died, and the order of their retry, which finds the record to
//! blame.
//!
//! A filter that answers each record at once is killed by its first unanswered record. That record is the suspect: the
//! next process gets the suspect first, and alone. Once the suspect is answered, all other records follow at once.
//!
//! A filter that holds its answers back may have died of any record that it had begun. Records that several processes
//! died with are divided into the suspect and both halves of the others. Each part has a process to itself. A record
//! that a process had not yet read at its death is not to blame.

use std::collections::VecDeque;

use super::slot::Record;

/// Deaths after which the begun records are divided, unless the filter answers promptly.
const DEATHS_DIVIDED: u32 = 2;

/// Records to give again, in order.
#[derive(Debug, Default)]
pub struct Redo {
    suspect: Option<Record>,
    parts: VecDeque<Vec<Record>>,
}

/// Records that a process is given again.
#[derive(Debug)]
pub enum Part {
    /// The suspect. No record follows before it is answered.
    Suspect(Record),
    /// A part of the records that several processes died with. No record follows it.
    Divided(Vec<Record>),
    /// All records that are left. New records may follow.
    Rest(Vec<Record>),
}

impl Redo {
    pub fn is_empty(&self) -> bool {
        self.suspect.is_none() && self.parts.is_empty()
    }

    /// Takes back the records `left` without an answer by a process that died. The process had begun the first `begun`
    /// of them. The first begun record is the suspect from now on. If the process had only this record, returns the
    /// number of processes that died with it alone.
    pub fn take_back(&mut self, mut left: Vec<Record>, begun: usize) -> Option<u32> {
        let was_alone = left.len() == 1;
        let not_begun = left.split_off(begun.min(left.len()));
        self.put_first(not_begun);
        left.iter_mut().for_each(|record| record.deaths += 1);
        if left.is_empty() {
            return None;
        }
        let mut rest = left.split_off(1);
        if rest.iter().any(|record| record.deaths >= DEATHS_DIVIDED) {
            let half = rest.split_off(rest.len() / 2);
            self.put_first(half);
        }
        self.put_first(rest);
        let mut suspect = left.pop()?;
        suspect.tries += u32::from(was_alone);
        let tries = suspect.tries;
        self.suspect = Some(suspect);
        was_alone.then_some(tries)
    }

    fn put_first(&mut self, part: Vec<Record>) {
        if !part.is_empty() {
            self.parts.push_front(part);
        }
    }

    /// Takes the suspect out, because it has failed.
    pub fn take_suspect(&mut self) -> Option<Record> {
        self.suspect.take()
    }

    /// Returns the next part for a process that has no record to answer.
    pub fn next(&mut self, is_prompt: bool) -> Option<Part> {
        if let Some(suspect) = self.suspect.take() {
            return Some(Part::Suspect(suspect));
        }
        if is_prompt {
            return (!self.parts.is_empty()).then(|| Part::Rest(self.parts.drain(..).flatten().collect()));
        }
        let part = self.parts.pop_front()?;
        match part.iter().any(|record| record.deaths >= DEATHS_DIVIDED) {
            true => Some(Part::Divided(part)),
            false => Some(Part::Rest(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_socket::Message;
    use hairstreak_socket::settlement::{Content, TaskId, TaskRun};

    use super::*;

    fn records(numbers: std::ops::Range<u64>) -> Vec<Record> {
        let run = TaskRun { id: TaskId { epoch: 1, sequence: 0 }, deliveries: 0, content: Content::Message };
        numbers.map(|number| Record::new(run.plus(number), Message::new())).collect()
    }

    fn numbers(part: Option<Part>) -> (&'static str, Vec<u64>) {
        let (name, records) = match part {
            Some(Part::Suspect(record)) => ("suspect", vec![record]),
            Some(Part::Divided(records)) => ("divided", records),
            Some(Part::Rest(records)) => ("rest", records),
            None => ("nothing", Vec::new()),
        };
        (name, records.iter().map(|record| record.run.id.sequence).collect())
    }

    #[test]
    fn the_first_goes_alone_and_the_others_follow_it() {
        let mut redo = Redo::default();
        assert_eq!(redo.take_back(records(0..9), 6), None);
        assert_eq!(numbers(redo.next(true)), ("suspect", vec![0]));
        assert_eq!(numbers(redo.next(true)), ("rest", (1..9).collect()));
        assert!(redo.is_empty());
    }

    #[test]
    fn what_was_begun_twice_is_divided_unless_answers_come_at_once() {
        for (is_prompt, expected) in [
            (
                false,
                vec![
                    ("suspect", vec![0]),
                    ("divided", vec![1, 2]),
                    ("divided", vec![3, 4]),
                    ("rest", vec![5, 6]),
                ],
            ),
            (true, vec![("suspect", vec![0]), ("rest", (1..7).collect())]),
        ] {
            let mut redo = Redo::default();
            let mut begun = records(0..7);
            begun.iter_mut().for_each(|record| record.deaths = 1);
            redo.take_back(begun, 5);
            let given: Vec<_> = expected.iter().map(|_| numbers(redo.next(is_prompt))).collect();
            assert_eq!(given, expected);
            assert!(redo.is_empty());
        }
    }

    #[test]
    fn only_who_was_begun_alone_is_tried() {
        let mut redo = Redo::default();
        assert_eq!(redo.take_back(records(0..1), 0), None);
        assert_eq!(numbers(redo.next(false)), ("rest", vec![0]));
        assert_eq!(redo.take_back(records(0..2), 1), None);
        let Some(Part::Suspect(suspect)) = redo.next(false) else { panic!("{redo:?}") };
        assert_eq!((suspect.deaths, suspect.tries), (1, 0));
        assert_eq!(redo.take_back(vec![suspect], 1), Some(1));
        assert_eq!(redo.take_suspect().map(|record| record.tries), Some(1));
    }
}
