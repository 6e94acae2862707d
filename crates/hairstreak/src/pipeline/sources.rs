//! `Sources`: a sink's knowledge of each ventilator whose results it has had, and `Completion`, the counts.

use std::collections::VecDeque;
use std::fmt;

use hairstreak_socket::Message;
use hairstreak_socket::settlement::{ControlMessage, TaskId};
use hairstreak_wire::settlement::{Ready, Seen};

use super::seen_tasks::{SeenSource, SeenTasks};

/// Largest number of known sources. Above it, the source that was heard of longest ago is forgotten.
const SOURCE_COUNT_MAX: usize = 64;

/// The counts of a sink. They are final when the work has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Number of tasks, once the ventilator has said it.
    pub task_count: Option<u64>,
    /// Results delivered, including results that the application rejected. A task may have none or several.
    pub result_count: u64,
    /// Tasks with a result that more than one worker was given.
    pub redelivered_count: u64,
    /// Tasks whose results came but were not delivered. They came again, or the task had been rejected or given up. All
    /// results of a task count once.
    pub duplicate_count: u64,
    /// Tasks that were rejected or given up, and have no result. If this sink delivered the result before it heard of
    /// the refusal, the task counts as done alone, though the ventilator counts it in
    /// [`Finished::rejected`](super::Finished::rejected). A sink that took the place of another cannot tell which of
    /// them the other delivered, and counts them all here.
    pub rejected_count: u64,
    /// Results delivered of tasks of earlier ventilators, which died before their work was done. The other numbers
    /// exclude them.
    pub earlier_result_count: u64,
}

impl Completion {
    fn add(&mut self, source: &Source, is_current: bool) {
        let Source { seen, further_count, .. } = source;
        if !is_current {
            self.earlier_result_count += seen.count + further_count;
            return;
        }
        self.result_count += seen.count + further_count;
        self.redelivered_count += seen.redelivered_count;
        self.duplicate_count += seen.duplicate_count;
    }
}

impl fmt::Display for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task_count {
            Some(count) => write!(f, "all {count} done")?,
            None => write!(f, "not done, {} results so far", self.result_count)?,
        }
        write!(f, ", {} redelivered, {} rejected", self.redelivered_count, self.rejected_count)
    }
}

/// A ventilator's message about its end.
#[derive(Clone, Copy, Debug)]
struct Ended {
    task_count: u64,
    refused_count: u64,
}

/// The results of a task, as they arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub message: Message,
    /// The message holds several results.
    pub is_group: bool,
}

/// The state of one ventilator.
#[derive(Debug)]
struct Source {
    epoch: u64,
    seen: Seen<Arrival>,
    /// Results of groups whose delivery has begun, except the first of each.
    further_count: u64,
}

/// Results that were taken out of the ready results and that the application has not had. `present` is a run of tasks,
/// `group` a task with the number of its results.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub present: Option<(TaskId, u64)>,
    pub group: Option<(TaskId, u64)>,
}

/// The state of all ventilators.
#[derive(Debug)]
pub(super) struct Sources {
    /// The source that was heard of last comes last.
    sources: Vec<Source>,
    /// The counts of forgotten sources.
    past: Completion,
    /// The epoch of the present ventilator, once the sink has heard of it.
    current: Option<u64>,
    /// The end of the present ventilator.
    ended: Option<Ended>,
}

impl Sources {
    /// Returns the sources of an application that has had the results of `seen`.
    pub fn resumed(seen: SeenTasks) -> Sources {
        let resumed = |SeenSource { epoch, count, further_count, ranges }| Source {
            epoch,
            seen: Seen::resumed(ranges, count),
            further_count,
        };
        let sources = seen.sources.into_iter().map(resumed).collect();
        Sources { sources, past: Completion::default(), current: None, ended: None }
    }

    /// Returns whether a ventilator has said which tasks are done.
    pub fn is_introduced(&self) -> bool {
        self.current.is_some()
    }

    /// Returns whether the present ventilator has said that all tasks are done.
    pub fn have_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns the seen tasks of a source.
    pub fn of(&mut self, epoch: u64) -> &mut Seen<Arrival> {
        &mut self.source(epoch).seen
    }

    /// Notes that the delivery of a group of `count` results begins.
    pub fn note_group(&mut self, task: TaskId, count: u64) {
        self.source(task.epoch).further_count += count.saturating_sub(1);
    }

    /// Notes that the application has rejected the results of a task, and that `left_count` results of its group are
    /// not delivered.
    pub fn note_unwanted(&mut self, task: TaskId, left_count: u64) {
        let source = self.source(task.epoch);
        source.seen.unwanted_count += 1;
        source.further_count -= left_count;
    }

    fn source(&mut self, epoch: u64) -> &mut Source {
        let known = self.sources.iter().position(|source| source.epoch == epoch);
        let last = self.sources.len().saturating_sub(1);
        match known {
            Some(at) if at == last => {}
            Some(at) => self.sources[at..].rotate_left(1),
            None => {
                if self.sources.len() >= SOURCE_COUNT_MAX {
                    let forgotten = self.sources.remove(0);
                    self.past.add(&forgotten, false);
                }
                self.sources.push(Source { epoch, seen: Seen::default(), further_count: 0 });
            }
        }
        let at = self.sources.len() - 1;
        &mut self.sources[at]
    }

    /// Takes a message of the ventilator about its tasks. Results that are then to be delivered or settled are appended
    /// to `ready`.
    pub fn take(&mut self, said: ControlMessage<'_>, ready: &mut VecDeque<Ready<Arrival>>) {
        match said {
            ControlMessage::Floor(floor) => self.raise_floor(floor, ready),
            ControlMessage::Left(next, left) => {
                self.of(next.epoch).skip_settled(next.sequence, left, &mut |next| ready.push_back(next));
            }
            // Only of the present ventilator.
            ControlMessage::Refused(epoch, refused) if self.current == Some(epoch) => {
                let seen = self.of(epoch);
                for (first, count) in refused {
                    seen.pass_over(first, count, &mut |next| ready.push_back(next));
                }
            }
            ControlMessage::End { epoch, count, rejected } => {
                self.raise_floor(TaskId { epoch, sequence: count }, ready);
                self.ended = Some(Ended { task_count: count, refused_count: rejected });
            }
            _ => {}
        }
    }

    /// Notes that all tasks below `floor` are settled.
    fn raise_floor(&mut self, floor: TaskId, ready: &mut VecDeque<Ready<Arrival>>) {
        if self.current.replace(floor.epoch) != Some(floor.epoch) {
            self.ended = None;
            // Earlier ventilators are dead, and their other tasks are lost. Results that wait for these tasks wait no
            // longer.
            for source in self.sources.iter_mut().filter(|source| source.epoch != floor.epoch) {
                source.seen.raise_floor(u64::MAX, &mut |next| ready.push_back(next));
            }
        }
        self.of(floor.epoch).raise_floor(floor.sequence, &mut |next| ready.push_back(next));
    }

    /// Returns the counts so far.
    pub fn completion(&self) -> Completion {
        let mut completion = self.past;
        for source in &self.sources {
            completion.add(source, self.current.is_none_or(|current| current == source.epoch));
        }
        if let (Some(epoch), Some(Ended { task_count, refused_count })) = (self.current, self.ended) {
            let source = self.sources.iter().find(|source| source.epoch == epoch);
            completion.task_count = Some(task_count);
            completion.rejected_count =
                source.map_or(refused_count, |source| source.seen.rejected_count(task_count, refused_count));
        }
        completion
    }

    /// Returns the tasks whose results the application has had. Results in `ready`, results that are `pending` and
    /// results that it has `rejected` do not count.
    pub fn seen(
        &self,
        ready: &VecDeque<Ready<Arrival>>,
        pending: Pending,
        rejected: impl Iterator<Item = TaskId> + Clone,
    ) -> SeenTasks {
        let source = |&Source { epoch, ref seen, further_count }: &Source| {
            let ready = ready.iter().filter_map(|next| match next {
                Ready::Result(task, _) if task.epoch == epoch => Some(task.sequence),
                _ => None,
            });
            let is_its = |(task, _): &(TaskId, u64)| task.epoch == epoch;
            let group = pending.group.filter(is_its);
            let present = pending.present.filter(is_its).into_iter().chain(group.map(|(task, _)| (task, 1)));
            let present = present.flat_map(|(task, left)| task.sequence..task.sequence + left);
            let rejected = rejected.clone().filter(|task| task.epoch == epoch).map(|task| task.sequence);
            let (ranges, count) = seen.had(ready.chain(present).chain(rejected));
            let further_count = further_count - group.map_or(0, |(_, count)| count - 1);
            SeenSource { epoch, count, further_count, ranges }
        };
        SeenTasks { sources: self.sources.iter().map(source).collect() }
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_socket::settlement::{Content, SequenceRuns, TaskRun};

    use super::*;

    fn floor(epoch: u64, sequence: u64) -> ControlMessage<'static> {
        ControlMessage::Floor(TaskId { epoch, sequence })
    }

    #[test]
    fn the_end_of_a_ventilator_is_not_that_of_the_next() {
        let (mut sources, mut ready) = (Sources::resumed(SeenTasks::default()), VecDeque::new());
        let mut take = |sources: &mut Sources, said| {
            sources.take(said, &mut ready);
            (sources.have_ended(), sources.completion().task_count)
        };
        assert!(!sources.is_introduced());
        let end = ControlMessage::End { epoch: 1, count: 5, rejected: 5 };
        assert_eq!(take(&mut sources, end), (true, Some(5)));
        assert_eq!(take(&mut sources, floor(1, 5)), (true, Some(5)));
        assert_eq!(sources.completion().rejected_count, 5);
        assert_eq!(take(&mut sources, floor(2, 0)), (false, None));
        assert_eq!(sources.completion().rejected_count, 0);
    }

    #[test]
    fn what_was_rejected_comes_again_to_the_next_sink_until_the_ventilator_has_heard_of_it() {
        let mut sources = Sources::resumed(SeenTasks::default());
        let first = TaskId { epoch: 1, sequence: 0 };
        let run = TaskRun { id: first, deliveries: 0, content: Content::Message };
        assert!(sources.of(1).take_new(run, 3, false));
        sources.note_unwanted(first.plus(1), 0);
        let none = Pending::default();
        let next = |rejected: &[TaskId]| {
            let seen = sources.seen(&VecDeque::new(), none, rejected.iter().copied());
            let mut next = Sources::resumed(seen);
            (
                next.completion().result_count,
                next.of(1).take_new(TaskRun { id: first.plus(1), ..run }, 1, false),
            )
        };
        assert_eq!(next(&[first.plus(1)]), (2, true));
        assert_eq!(next(&[]), (3, false));
        sources.take(ControlMessage::End { epoch: 1, count: 3, rejected: 1 }, &mut VecDeque::new());
        let completion = sources.completion();
        assert_eq!((completion.result_count, completion.rejected_count), (3, 1));
    }

    #[test]
    fn refused_tasks_are_those_of_the_ventilator_that_is_there() {
        let (mut sources, mut ready) = (Sources::resumed(SeenTasks::default()), VecDeque::new());
        let all = SequenceRuns::encode([(0, u64::MAX)].into_iter());
        let refused = |epoch| ControlMessage::Refused(epoch, SequenceRuns::of(&all));
        for said in [refused(1), floor(1, 0), refused(2), floor(3, 0), refused(1)] {
            sources.take(said, &mut ready);
        }
        assert!(sources.sources.iter().all(|source| source.seen.range_count() == 0));
        assert_eq!(sources.sources.len(), 2, "none is made up");
        sources.take(refused(3), &mut ready);
        assert_eq!(sources.of(3).range_count(), 1);
    }
}
