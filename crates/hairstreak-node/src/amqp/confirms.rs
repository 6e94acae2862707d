//! `Confirms`: the publishes of a channel that are still to be confirmed.
//!
//! Publishes are numbered from 1. A basic.ack confirms all publishes since the last answer, and a basic.nack refuses consecutive
//! publishes. A cumulative number never covers a publish with another outcome, or a publish that is not synced.

use std::collections::VecDeque;

use hairstreak_base::OutgoingBuffer;
use hairstreak_broker::vhost::Published;
use hairstreak_wire::amqp::{Method, basic};

use crate::node::encoding::push_method;

/// The confirms of one channel.
#[derive(Debug, Default)]
pub(super) struct Confirms {
    /// Publishes so far.
    count: u64,
    /// Publishes that are confirmed to the client.
    told: u64,
    /// Refused publishes after `told`, in order.
    refused: Vec<u64>,
    /// Runs of publishes that wait for the message log: the first publish, and the position.
    logged: VecDeque<(u64, u64)>,
    /// The first publish of this turn that the message log gets.
    unplaced: Option<u64>,
}

impl Confirms {
    /// One more publish has its outcome.
    #[inline]
    pub fn settle(&mut self, published: Published) {
        self.count += 1;
        match published {
            Published::Refused => self.refused.push(self.count),
            Published::Logged if self.unplaced.is_none() => self.unplaced = Some(self.count),
            _ => {}
        }
    }

    /// Returns true if the message log gets publishes of this turn.
    pub fn is_unplaced(&self) -> bool {
        self.unplaced.is_some()
    }

    /// Notes the position of the publishes that the message log got in this turn.
    pub fn place(&mut self, position: u64) {
        self.logged.extend(self.unplaced.take().map(|first| (first, position)));
    }

    /// The position of the message log that the next confirm waits for.
    pub fn awaited(&self) -> Option<u64> {
        self.logged.front().map(|(_, position)| *position)
    }

    /// Sends the outcome of all settled publishes before the first unsynced publish.
    pub fn tell(&mut self, synced: u64, channel: u16, output: &mut OutgoingBuffer) {
        while self.logged.front().is_some_and(|(_, position)| *position <= synced) {
            self.logged.pop_front();
        }
        let waiting = self.logged.front().map(|(first, _)| *first).or(self.unplaced);
        let last_told = waiting.map_or(self.count, |first| first - 1);
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

    fn told(confirms: &mut Confirms, synced: u64) -> Vec<(&'static str, u64, bool)> {
        let mut output = OutgoingBuffer::new(&BlockPool::new());
        confirms.tell(synced, 7, &mut output);
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
        use Published::{Logged, Refused, Routed};
        let mut confirms = Confirms::default();
        let publish = |confirms: &mut Confirms, outcomes: &[Published], position| {
            outcomes.iter().for_each(|outcome| confirms.settle(*outcome));
            confirms.place(position);
        };
        publish(&mut confirms, &[Routed, Logged, Refused, Routed], 5);
        assert_eq!(told(&mut confirms, 4), [("ack", 1, false)]);
        // The third and fourth publish wait behind the second one.
        publish(&mut confirms, &[Routed, Logged, Logged], 6);
        assert_eq!((told(&mut confirms, 4), confirms.awaited()), (vec![], Some(5)));
        let expected = [("ack", 2, false), ("nack", 3, true), ("ack", 5, true)];
        assert_eq!(told(&mut confirms, 5), expected);
        // A publish of the present turn has no position.
        confirms.settle(Logged);
        assert_eq!(told(&mut confirms, 6), [("ack", 7, true)]);
        assert!(confirms.is_unplaced() && confirms.awaited().is_none());
        confirms.place(7);
        assert_eq!(told(&mut confirms, 9), [("ack", 8, false)]);
    }
}
