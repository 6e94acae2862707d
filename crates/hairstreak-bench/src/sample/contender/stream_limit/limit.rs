//! `StreamLimit`: the limit program, and the ends that it opens.

use anyhow::Result;
use hairstreak_socket::Pattern;

use super::end::StreamEnd;
use super::link::Link;
use crate::sample::contender::contract::failed;
use crate::sample::contender::{Contender, Opens, PubPattern, PushPattern};
use crate::sample::{Calls, Subject};

/// Only the subject.
pub struct StreamLimit(Subject);

impl Contender for StreamLimit {
    fn open(subject: &Subject) -> Result<Self> {
        Ok(Self(subject.clone()))
    }
}

impl StreamLimit {
    /// An end of these links. An end that only sends has nothing to look for.
    fn end<P: Pattern>(&self, links: Vec<Link>) -> StreamEnd {
        let only_sends = matches!(P::SOCKET_TYPE, PushPattern::SOCKET_TYPE | PubPattern::SOCKET_TYPE);
        StreamEnd::new(links, self.0.is_sealed(), self.0.calls == Calls::Spin && !only_sends)
    }
}

impl<P: Pattern> Opens<P> for StreamLimit {
    type End = StreamEnd;

    fn bind(&self, number: usize) -> Result<(StreamEnd, String)> {
        let (link, endpoint) = Link::bind(self.0.transport, number).map_err(failed("bind"))?;
        Ok((self.end::<P>(vec![link]), endpoint))
    }

    /// Over several links, the end frames once and writes the same bytes to each.
    fn connect(&self, endpoints: &[String]) -> Result<StreamEnd> {
        let links = endpoints.iter().map(|endpoint| Link::connect(self.0.transport, endpoint));
        Ok(self.end::<P>(links.collect::<Result<_, _>>().map_err(failed("connect"))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::contender::{End, PullPattern, Receiving, Sending};
    use crate::sample::{CaseName, Transport};

    fn check(transport: Transport, size: usize, message_count: usize) {
        let limit = &StreamLimit::open(&Subject::of_limit(CaseName::Throughput, transport, size)).unwrap();
        // Numbers tell the unix sockets of tests apart that run at the same time.
        let (mut receiver, endpoint) = Opens::<PullPattern>::bind(limit, size).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut sender = Opens::<PushPattern>::connect(limit, &[endpoint]).unwrap();
                (0..message_count).for_each(|_| sender.send(&vec![7; size]).unwrap());
                sender.flush().unwrap();
            });
            receiver.wait_ready().unwrap();
            let mut count = 0;
            while count < message_count {
                count += receiver.receive_batch(size, (message_count - count).min(64)).unwrap();
            }
        });
    }

    #[test]
    fn short_frames_arrive() {
        check(Transport::Tcp, 8, 100_000);
        check(Transport::Ipc, 255, 10_000);
    }

    #[test]
    fn long_frames_arrive() {
        check(Transport::Tcp, 256, 10_000);
        check(Transport::Ipc, 8192, 1000);
    }

    #[test]
    fn bodies_larger_than_the_buffers_arrive() {
        check(Transport::Tcp, 32 * 1024, 300);
        check(Transport::Ipc, 128 * 1024, 300);
    }
}
