//! `Confirms`: the publishes of a channel that are still to be confirmed.
//!
//! Publishes are numbered from 1. A basic.ack confirms all publishes since the last answer, and a basic.nack refuses consecutive
//! publishes. A cumulative number never covers a publish with another outcome, or a publish that waits for the message log.

use std::collections::VecDeque;

use hairstreak_base::OutgoingBuffer;
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::Published;
use hairstreak_wire::amqp::{Method, basic};

use crate::node::encoding::push_method;
use crate::node::{Awaited, Reached};

/// Position of a run that the message log gets at the end of the turn.
const UNPLACED: u64 = u64::MAX;

/// The confirms of one channel.
#[derive(Debug, Default)]
pub(super) struct Confirms {
    /// Publishes so far.
    count: u64,
    /// Publishes that are confirmed to the client.
    told: u64,
    /// Refused publishes after `told`, in order.
    refused: Vec<u64>,
    /// Runs of publishes that wait for the message log.
    logged: VecDeque<Run>,
}

/// Publishes of one turn that wait for the message log. Publishes with another outcome may be among them.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The first publish.
    first: u64,
    awaited: Awaited,
}

impl Confirms {
    /// One more publish has its outcome.
    #[inline]
    pub fn settle(&mut self, published: Published) {
        self.count += 1;
        match published {
            Published::Refused => self.refused.push(self.count),
            Published::Logged(durability) => self.note_logged(durability),
            _ => {}
        }
    }

    /// The message log gets the last publish.
    #[inline]
    fn note_logged(&mut self, durability: Durability) {
        let awaited = Awaited { position: UNPLACED, durability };
        if self.logged.back().is_none_or(|run| run.awaited != awaited) {
            self.logged.push_back(Run { first: self.count, awaited });
        }
    }

    /// Returns true if the message log gets publishes of this turn.
    pub fn is_unplaced(&self) -> bool {
        self.logged.back().is_some_and(|run| run.awaited.position == UNPLACED)
    }

    /// Notes the position of the publishes that the message log got in this turn.
    pub fn place(&mut self, position: u64) {
        let runs = self.logged.iter_mut().rev().take_while(|run| run.awaited.position == UNPLACED);
        runs.for_each(|run| run.awaited.position = position);
    }

    /// The position of the message log that the next confirm waits for.
    pub fn awaited(&self) -> Option<Awaited> {
        self.logged.front().map(|run| run.awaited).filter(|awaited| awaited.position != UNPLACED)
    }

    /// Sends the outcome of all settled publishes before the first publish that waits.
    pub fn tell(&mut self, reached: Reached, channel: u16, output: &mut OutgoingBuffer) {
        while self.logged.front().is_some_and(|run| reached.has(run.awaited)) {
            self.logged.pop_front();
        }
        let last_told = self.logged.front().map_or(self.count, |run| run.first - 1);
        let later = self.refused.partition_point(|refused| *refused <= last_told);
        let later = self.refused.split_off(later);
        let refused = std::mem::replace(&mut self.refused, later);
        for run in refused.chunk_by(|one, next| one + 1 == *next) {
            let (first, last) = (run[0], run[run.len() - 1]);
            self.tell_through(first - 1, channel, output);
            // RabbitMQ sets `multiple` for a single one, too.
            let nack = basic::Nack { delivery_tag: last, multiple: true, requeue: false };
            push_method(output, channel, &Method::BasicNack(nack));
            self.told = last;
        }
        self.tell_through(last_told, channel, output);
    }

    fn tell_through(&mut self, count: u64, channel: u16, output: &mut OutgoingBuffer) {
        if count > self.told {
            let ack = basic::Ack { delivery_tag: count, multiple: count > self.told + 1 };
            push_method(output, channel, &Method::BasicAck(ack));
            self.told = count;
        }
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_base::BlockPool;
    use hairstreak_wire::amqp::decode_frame;

    use super::*;

    const LOGGED: Published = Published::Logged(Durability::Synced);

    /// The answers of the channel once the log has synced `synced` batches.
    fn told(confirms: &mut Confirms, synced: u64) -> Vec<(&'static str, u64, bool)> {
        told_at(confirms, Reached { written: synced, synced })
    }

    fn told_at(confirms: &mut Confirms, reached: Reached) -> Vec<(&'static str, u64, bool)> {
        let mut output = OutgoingBuffer::new(&BlockPool::new());
        confirms.tell(reached, 7, &mut output);
        let (mut bytes, mut told) = (Vec::new(), Vec::new());
        while !output.is_empty() {
            let all = |slices: &[std::io::IoSlice<'_>]| Ok(slices.iter().map(|s| s.len()).sum());
            output
                .write_with(|slices| {
                    slices.iter().for_each(|slice| bytes.extend_from_slice(slice));
                    all(slices)
                })
                .unwrap();
        }
        let mut rest = &bytes[..];
        while let Some(frame) = decode_frame(rest, 4096).unwrap() {
            told.push(match Method::decode(frame.payload).unwrap() {
                Method::BasicAck(ack) => ("ack", ack.delivery_tag, ack.multiple),
                Method::BasicNack(nack) => ("nack", nack.delivery_tag, nack.multiple),
                other => panic!("{}", other.name()),
            });
            rest = &rest[frame.size()..];
        }
        told
    }

    fn synced_at(position: u64) -> Awaited {
        Awaited { position, durability: Durability::Synced }
    }

    #[test]
    fn one_ack_answers_for_many_and_runs_over_no_refusal() {
        let mut confirms = Confirms::default();
        assert_eq!(told(&mut confirms, 0), []);
        confirms.settle(Published::Routed);
        assert_eq!(told(&mut confirms, 0), [("ack", 1, false)]);
        for number in 2..=9 {
            let is_refused = [4, 5, 9].contains(&number);
            confirms.settle(if is_refused { Published::Refused } else { Published::Unroutable });
        }
        let expected = [("ack", 3, true), ("nack", 5, true), ("ack", 8, true), ("nack", 9, true)];
        assert_eq!(told(&mut confirms, 0), expected);
        assert_eq!(told(&mut confirms, 0), []);
    }

    #[test]
    fn an_ack_runs_over_no_publish_that_is_not_on_disk() {
        use Published::{Refused, Routed};
        let mut confirms = Confirms::default();
        let publish = |confirms: &mut Confirms, outcomes: &[Published], position| {
            outcomes.iter().for_each(|outcome| confirms.settle(*outcome));
            confirms.place(position);
        };
        publish(&mut confirms, &[Routed, LOGGED, Refused, Routed], 5);
        assert_eq!(told(&mut confirms, 4), [("ack", 1, false)]);
        // The third and fourth publish wait behind the second one.
        publish(&mut confirms, &[Routed, LOGGED, LOGGED], 6);
        assert_eq!((told(&mut confirms, 4), confirms.awaited()), (vec![], Some(synced_at(5))));
        let expected = [("ack", 2, false), ("nack", 3, true), ("ack", 5, true)];
        assert_eq!(told(&mut confirms, 5), expected);
        // A publish of the present turn has no position.
        confirms.settle(LOGGED);
        assert_eq!(told(&mut confirms, 6), [("ack", 7, true)]);
        assert!(confirms.is_unplaced() && confirms.awaited().is_none());
        confirms.place(7);
        assert_eq!(told(&mut confirms, 9), [("ack", 8, false)]);
    }

    #[test]
    fn each_publish_waits_for_its_durability_and_for_those_before() {
        let (written, synced) = (Published::Logged(Durability::Written), LOGGED);
        let mut confirms = Confirms::default();
        [written, written, Published::Routed, synced, written]
            .into_iter()
            .for_each(|outcome| confirms.settle(outcome));
        let far = Reached { written: 9, synced: 9 };
        assert_eq!((told_at(&mut confirms, far), confirms.awaited()), (vec![], None));
        confirms.place(1);
        confirms.settle(written);
        confirms.place(2);
        let awaited = Awaited { position: 1, durability: Durability::Written };
        assert_eq!(confirms.awaited(), Some(awaited));
        assert_eq!(told_at(&mut confirms, Reached { written: 1, synced: 0 }), [("ack", 3, true)]);
        assert_eq!(confirms.awaited(), Some(synced_at(1)));
        assert_eq!(told_at(&mut confirms, Reached { written: 2, synced: 0 }), []);
        assert_eq!(told_at(&mut confirms, Reached { written: 2, synced: 1 }), [("ack", 6, true)]);
        assert_eq!(confirms.awaited(), None);
    }
}
