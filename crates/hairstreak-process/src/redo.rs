//! `Redo`: what processes that died had not answered, and how it is given again so that who is to blame is found.
//!
//! A filter that answers as it goes dies of the first record that it has not answered: that is the suspect, which is
//! given again first, and alone. If it is answered, the others follow it all at once. A filter that holds its answers back may
//! have died of any that it had begun: what several processes died with is divided, into the suspect and both halves of the
//! others, each of which has a process to itself. What a process had not even read when it died is to blame for nothing.

use std::collections::VecDeque;

use super::slot::Record;

/// What was begun at so many deaths is divided, unless the filter answers as it goes.
const DEATHS_DIVIDED: u32 = 2;

/// What is to be given again, in order.
#[derive(Debug, Default)]
pub struct Redo {
    suspect: Option<Record>,
    parts: VecDeque<Vec<Record>>,
}

/// What a process is given again.
#[derive(Debug)]
pub enum Part {
    /// The suspect, which nothing follows before it is answered.
    Suspect(Record),
    /// A part of what several processes died with: nothing follows it.
    Divided(Vec<Record>),
    /// All that is left: new records may follow.
    Rest(Vec<Record>),
}

impl Redo {
    pub fn is_empty(&self) -> bool {
        self.suspect.is_none() && self.parts.is_empty()
    }

    /// A process has died with these unanswered, of which it had begun the first `begun`. Where it had begun one and had no
    /// other, that is the suspect from now on: returns how often it has been alone with a process that died.
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

    /// It has failed.
    pub fn take_suspect(&mut self) -> Option<Record> {
        self.suspect.take()
    }

    /// What a process that has nothing to answer is given next.
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
