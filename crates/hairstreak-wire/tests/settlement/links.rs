//! Both ends of a link, joined by bytes: after settlements in any order, both ends have the same state.

use std::collections::{BTreeMap, BTreeSet};

use hairstreak_wire::settlement::{Outcome, ReceivingLink, Refused, SendingLink, SettlementTerms, TaskRun};
use proptest::prelude::*;

use crate::{for_each_command, run};

/// The two ends, the sent messages, and a plain table of the state of each message.
struct Pair {
    sender: SendingLink,
    receiver: ReceivingLink,
    window: u64,
    sent: u64,
    tasks: BTreeMap<u64, TaskRun>,
    outcomes: BTreeMap<u64, Outcome>,
    /// The settlements that the sender knows.
    refused: BTreeMap<u64, Outcome>,
    settled_count: u64,
    told: BTreeSet<u64>,
    /// Tasks reported as done before the sender knew that they were settled.
    done: BTreeSet<u64>,
    /// The last task that was given up by its deadline.
    expired: Option<u64>,
}

impl Pair {
    fn new(window: u64) -> Pair {
        Pair {
            sender: SendingLink::new(SettlementTerms { credit: window, ..Default::default() }),
            receiver: ReceivingLink::new(window),
            window,
            sent: 0,
            tasks: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            refused: BTreeMap::new(),
            settled_count: 0,
            told: BTreeSet::new(),
            done: BTreeSet::new(),
            expired: None,
        }
    }

    /// Sends up to `count` tasks from `run` on.
    fn send(&mut self, run: TaskRun, count: u64) {
        let count = count.min(self.sender.room(self.sent));
        if count == 0 {
            return;
        }
        let mut bytes = Vec::new();
        self.sender.begin(self.sent, run, &mut bytes);
        for_each_command(&bytes, |command| self.receiver.handle(command, self.sent).unwrap());
        for offset in 0..count {
            self.sent += 1;
            self.tasks.insert(self.sent, run.plus(offset));
        }
        self.receiver.check(self.sent).unwrap();
    }

    fn settle(&mut self, first: u64, count: u64, outcome: Outcome) {
        let range = first.clamp(1, self.sent + 1)..(first + count).clamp(1, self.sent + 1);
        if range.is_empty() {
            return;
        }
        let is_new = range.clone().all(|number| !self.outcomes.contains_key(&number));
        assert_eq!(self.receiver.settle(range.clone(), outcome, b"reason"), is_new);
        if is_new {
            range.for_each(|number| assert!(self.outcomes.insert(number, outcome).is_none()));
        }
    }

    fn accept_through(&mut self, number: u64) {
        let number = number.min(self.sent);
        self.receiver.accept_through(number);
        for number in 1..=number {
            self.outcomes.entry(number).or_insert(Outcome::Accepted);
        }
    }

    /// The messages of these tasks whose settlement the sender does not know yet.
    fn unheard(&self, sequence: u64, count: u64) -> Vec<u64> {
        let range = sequence..sequence + count;
        let is_new = |number: &u64| !self.told.contains(number) && !self.done.contains(number);
        let met = self.tasks.iter().filter(|(_, task)| range.contains(&task.id.sequence));
        met.map(|(number, _)| *number).filter(is_new).collect()
    }

    fn expire(&mut self, sequence: u64, count: u64, begun: u64) {
        let (new, range, begun) =
            (self.unheard(sequence, count), sequence..sequence + count, begun.min(self.sent));
        let expired = self.sender.expire(self.sent, begun, |task| range.contains(&task.sequence));
        let sent_as = |number: &u64| {
            let task = self.tasks[number];
            (*number, TaskRun { deliveries: task.deliveries + u16::from(*number <= begun), ..task })
        };
        assert_eq!(expired, new.iter().map(sent_as).collect::<Vec<_>>());
        self.settled_count += new.len() as u64;
        self.expired = self.expired.max(new.last().copied());
        self.done.extend(new);
    }

    fn do_tasks(&mut self, sequence: u64, count: u64) {
        let new = self.unheard(sequence, count);
        assert_eq!(self.sender.settle_tasks(run(sequence, 0).id, count, self.sent), new.len() as u64);
        self.settled_count += new.len() as u64;
        self.done.extend(new);
    }

    fn tell(&mut self) {
        self.told = self.outcomes.keys().copied().collect();
        let mut bytes = Vec::new();
        self.receiver.tell(&mut bytes);
        for_each_command(&bytes, |command| {
            let settled = self.sender.handle(command, self.sent).unwrap();
            self.settled_count += settled.count;
            for Refused { numbers, run, outcome, reason } in settled.refused {
                assert_eq!(reason.is_empty(), outcome != Outcome::Rejected);
                for (offset, number) in numbers.enumerate() {
                    assert_eq!(run.plus(offset as u64), self.tasks[&number]);
                    assert!(self.refused.insert(number, outcome).is_none());
                }
            }
        });
    }

    fn check(&self) {
        let unsettled: Vec<_> =
            (1..=self.sent).filter(|number| !self.outcomes.contains_key(number)).collect();
        let room = self.window - unsettled.len() as u64;
        let unsettled: Vec<_> = unsettled.into_iter().filter(|number| !self.done.contains(number)).collect();
        let first = unsettled.first().copied().unwrap_or(self.sent + 1);
        assert_eq!(self.sender.settled_through(), first - 1);
        let parts: Vec<_> = self.sender.unsettled(self.sent).collect();
        assert_eq!(parts.iter().flat_map(|(range, _)| range.clone()).collect::<Vec<_>>(), unsettled);
        for (range, run) in parts {
            for (offset, number) in range.enumerate() {
                assert_eq!(run.plus(offset as u64), self.tasks[&number]);
                assert_eq!(self.receiver.task_of(number), Some(self.tasks[&number]));
            }
        }
        let refused = self.outcomes.iter().filter(|(_, outcome)| **outcome != Outcome::Accepted);
        assert!(refused.filter(|(number, _)| !self.done.contains(number)).eq(&self.refused));
        assert_eq!(self.settled_count, self.sent - unsettled.len() as u64);
        assert_eq!(self.sender.unsettled_count(self.sent), unsettled.len() as u64);
        assert_eq!(self.sender.room(self.sent), room);
        assert!(!self.receiver.has_news());
        assert!(self.sender.unsettled_in(1..self.sent + 1).eq(unsettled));
        assert_eq!(
            self.sender.is_stuck(),
            self.expired.is_some_and(|last| !self.outcomes.contains_key(&last))
        );
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send { sequence: u64, deliveries: u16, count: u64 },
    Settle { first: u64, count: u64, outcome: Outcome },
    AcceptThrough(u64),
    Done { sequence: u64, count: u64 },
    Expire { sequence: u64, count: u64, begun: u64 },
    Tell,
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![Just(Outcome::Accepted), Just(Outcome::Released), Just(Outcome::Rejected)];
    prop_oneof![
        (0..20u64, 0..2u16, 0..8u64).prop_map(|(sequence, deliveries, count)| Step::Send {
            sequence,
            deliveries,
            count
        }),
        (0..60u64, 1..5u64, outcome).prop_map(|(first, count, outcome)| Step::Settle {
            first,
            count,
            outcome
        }),
        (0..60u64).prop_map(Step::AcceptThrough),
        (0..30u64, 1..9u64).prop_map(|(sequence, count)| Step::Done { sequence, count }),
        (0..30u64, 1..9u64, 0..60u64).prop_map(|(sequence, count, begun)| Step::Expire {
            sequence,
            count,
            begun
        }),
        Just(Step::Tell),
    ]
}

proptest! {
    #[test]
    fn both_ends_agree(window in 1..20u64, steps in prop::collection::vec(step(), 0..80)) {
        let mut pair = Pair::new(window);
        for step in steps {
            match step {
                Step::Send { sequence, deliveries, count } => pair.send(run(sequence, deliveries), count),
                Step::Settle { first, count, outcome } => pair.settle(first, count, outcome),
                Step::AcceptThrough(number) => pair.accept_through(number),
                Step::Done { sequence, count } => pair.do_tasks(sequence, count),
                Step::Expire { sequence, count, begun } => pair.expire(sequence, count, begun),
                Step::Tell => {
                    pair.tell();
                    pair.check();
                }
            }
        }
        pair.tell();
        pair.check();
    }
}

#[test]
fn settlements_are_due_at_half_the_window_whatever_the_outcome() {
    let mut pair = Pair::new(10);
    pair.send(run(0, 0), 10);
    pair.settle(1, 4, Outcome::Accepted);
    assert!(!pair.receiver.is_due() && pair.receiver.has_news());
    pair.settle(8, 1, Outcome::Accepted);
    assert!(pair.receiver.is_due());
    pair.tell();
    pair.check();
    pair.settle(6, 1, Outcome::Released);
    assert!(!pair.receiver.is_due() && pair.receiver.has_news());
    pair.settle(5, 1, Outcome::Rejected);
    pair.settle(7, 1, Outcome::Rejected);
    pair.settle(9, 2, Outcome::Released);
    assert!(pair.receiver.is_due());
    pair.tell();
    pair.check();
}

#[test]
fn many_refusals_go_in_several_commands_that_every_peer_takes() {
    let mut pair = Pair::new(5000);
    pair.send(run(0, 0), 5000);
    for number in 0..2000 {
        pair.settle(number * 2 + 1, 1, Outcome::Rejected);
    }
    let mut bytes = Vec::new();
    pair.receiver.clone().tell(&mut bytes);
    let mut count = 0;
    for_each_command(&bytes, |_| count += 1);
    assert!(count > 2);
    pair.tell();
    pair.check();
}

#[test]
fn a_smaller_window_takes_nothing_back_and_grants_nothing_until_it_is_reached() {
    let mut pair = Pair::new(10);
    pair.send(run(0, 0), 6);
    pair.receiver.set_window(3);
    pair.accept_through(6);
    pair.tell();
    assert_eq!(pair.sender.room(pair.sent), 4, "10 were granted");
    pair.send(run(6, 0), 4);
    pair.accept_through(10);
    pair.tell();
    assert_eq!(pair.sender.room(pair.sent), 3);
}
