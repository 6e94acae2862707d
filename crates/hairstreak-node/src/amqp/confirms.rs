//! `Confirms`: the publishes of a channel that are still to be confirmed.
//!
//! Publishes are numbered from 1. One basic.ack answers for all that were confirmed since the last one, and one basic.nack for refusals
//! that follow each other: no cumulative number runs over a publish of the other kind.

use hairstreak_base::OutgoingBuffer;
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
}

impl Confirms {
    /// One more publish is settled.
    #[inline]
    pub fn settle(&mut self, is_accepted: bool) {
        self.count += 1;
        if !is_accepted {
            self.refused.push(self.count);
        }
    }

    /// Confirms all settled publishes to the client.
    pub fn tell(&mut self, channel: u16, output: &mut OutgoingBuffer) {
        let refused = std::mem::take(&mut self.refused);
        for run in refused.chunk_by(|one, next| one + 1 == *next) {
            let (first, last) = (run[0], run[run.len() - 1]);
            self.tell_through(first - 1, channel, output);
            // RabbitMQ sets `multiple` for a single one, too.
            let nack = basic::Nack { delivery_tag: last, multiple: true, requeue: false };
            push_method(output, channel, &Method::BasicNack(nack));
            self.told = last;
        }
        self.tell_through(self.count, channel, output);
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

    fn told(confirms: &mut Confirms) -> Vec<(&'static str, u64, bool)> {
        let mut output = OutgoingBuffer::new(&BlockPool::new());
        confirms.tell(7, &mut output);
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
        assert_eq!(told(&mut confirms), []);
        confirms.settle(true);
        assert_eq!(told(&mut confirms), [("ack", 1, false)]);
        for number in 2..=9 {
            confirms.settle(![4, 5, 9].contains(&number));
        }
        let expected = [("ack", 3, true), ("nack", 5, true), ("ack", 8, true), ("nack", 9, true)];
        assert_eq!(told(&mut confirms), expected);
        assert_eq!(told(&mut confirms), []);
    }
}
