//! Queues of the limit, and its loop: publishes become deliveries, or a count.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use hairstreak_wire::amqp::ack_frame;

use super::super::amqp::Argument::{Short, U8, U64};
use super::super::amqp::*;

/// A content header without properties has at least that.
const BODY_SIZE_AT: usize = FRAME_HEADER_SIZE + 4;

/// The queues, shared by all connections.
#[derive(Debug, Default)]
pub struct Registry(Mutex<Vec<Queue>>);

/// A queue, which holds no message.
#[derive(Debug, Default)]
pub struct Queue {
    name: String,
    /// Exchanges and keys. Keys must be equal, for every type of exchange.
    pub bindings: Vec<(String, String)>,
    /// Messages that came; all of them are gone.
    pub message_count: Arc<AtomicU64>,
    /// The last consumer.
    pub consumer: Option<Consumer>,
}

/// A consumer of a queue.
#[derive(Debug)]
pub struct Consumer {
    /// The socket.
    pub stream: Arc<TcpStream>,
    /// The consumer tag. All consumers of a route have the same, so that one frame fits all.
    pub tag: String,
}

/// The destination of the messages with one exchange and key, and the method frame of their deliveries.
#[derive(Debug, Default)]
pub struct Route {
    counts: Vec<Arc<AtomicU64>>,
    consumers: Vec<Arc<TcpStream>>,
    /// basic.deliver with all but the delivery tag, and the place of the tag in it.
    deliver: Vec<u8>,
    tag_at: usize,
}

impl Registry {
    fn queues(&self) -> MutexGuard<'_, Vec<Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a queue. A queue that is not there is declared.
    pub fn change<T>(&self, name: &str, change: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queues = self.queues();
        let index = queues.iter().position(|queue| queue.name == name).unwrap_or_else(|| {
            queues.push(Queue { name: name.to_owned(), ..Queue::default() });
            queues.len() - 1
        });
        change(&mut queues[index])
    }

    /// Removes a queue and its bindings.
    pub fn delete(&self, name: &str) {
        self.queues().retain(|queue| queue.name != name);
    }

    /// Returns the route of messages with this exchange and key.
    pub fn route(&self, exchange: &str, key: &str) -> Route {
        let mut route = Route::default();
        let is_bound = |queue: &&Queue| queue.bindings.iter().any(|(e, k)| e == exchange && k == key);
        for queue in self.queues().iter().filter(is_bound) {
            route.counts.push(Arc::clone(&queue.message_count));
            let Some(Consumer { stream, tag }) = &queue.consumer else { continue };
            route.consumers.push(Arc::clone(stream));
            let arguments = [Short(tag), U64(0), U8(0), Short(exchange), Short(key)];
            route.deliver.clear();
            push_method(&mut route.deliver, CHANNEL, BASIC_DELIVER, &arguments);
            route.tag_at = FRAME_HEADER_SIZE + 4 + 1 + tag.len();
        }
        route
    }
}

/// The publishes of one connection that have the same method frame.
#[derive(Debug, Default)]
pub struct Relay {
    /// The method frame, compared byte by byte.
    method: Vec<u8>,
    route: Route,
    output: Vec<u8>,
    /// Bytes of the body that are still to come. `skip`: bytes of the frame under way that are still to come. The relay
    /// forgets messages by these counts.
    body_left: u64,
    skip: usize,
    /// Messages since the last flush, and in all.
    batch_count: u64,
    message_count: u64,
    /// All messages without a consumer are counted in the queue of the first one.
    is_indifferent: bool,
}

impl Relay {
    /// A relay without a route. If it is indifferent, all messages without a consumer count in the queue of the first one.
    pub fn new(is_indifferent: bool) -> Relay {
        Relay { is_indifferent, ..Relay::default() }
    }

    /// Sets the route of publishes with the method frame `method`.
    pub fn change_route(&mut self, method: &[u8], route: Route) {
        method.clone_into(&mut self.method);
        self.route = route;
    }

    /// Takes publishes from the front of `bytes` while they are whole. Returns their size.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize> {
        match (self.method.is_empty(), self.route.consumers.is_empty()) {
            (true, _) => Ok(0),
            (false, true) => self.forget(bytes),
            (false, false) => self.forward(bytes),
        }
    }

    /// Returns the number of messages since the last flush, and the number of all.
    pub fn counts(&self) -> (u64, u64) {
        (self.batch_count, self.message_count)
    }

    /// Returns whether `method` is the method of a publish whose content is not whole.
    pub fn is_waiting(&self, method: &[u8]) -> bool {
        self.method == method
    }

    fn forward(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut at = 0;
        while bytes[at..].starts_with(&self.method) {
            let content = &bytes[at + self.method.len()..];
            let Some(size) = content_size(content)? else { break };
            let (start, tag_at) = (self.output.len(), self.route.tag_at);
            self.message_count += 1;
            self.batch_count += 1;
            self.output.extend_from_slice(&self.route.deliver);
            let tag = &mut self.output[start + tag_at..start + tag_at + 8];
            tag.copy_from_slice(&self.message_count.to_be_bytes());
            self.output.extend_from_slice(&content[..size]);
            at += self.method.len() + size;
        }
        Ok(at)
    }

    /// Frame by frame, because the body of a large message need not be in one piece to be forgotten.
    fn forget(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut at = self.skip.min(bytes.len());
        self.skip -= at;
        while let Some(size) = frame_size(&bytes[at..]) {
            let frame = &bytes[at..];
            match frame[0] {
                METHOD if frame.starts_with(&self.method) => {}
                METHOD if self.is_indifferent && frame.len() >= size && is_publish(frame) => {}
                CONTENT_HEADER if frame.len() >= size => self.body_left = body_size(frame)?,
                BODY => {
                    let left = self.body_left.checked_sub((size - FRAME_HEADER_SIZE - 1) as u64);
                    self.body_left = left.context("a body that is too long")?;
                    if self.body_left == 0 {
                        self.message_count += 1;
                        self.batch_count += 1;
                    }
                    self.skip = size.saturating_sub(frame.len());
                }
                _ => break,
            }
            at += size.min(frame.len());
        }
        Ok(at)
    }

    /// Writes the gathered messages to all consumers, and confirms them to `publisher`.
    pub fn flush(&mut self, publisher: Option<&mut impl Write>) -> Result<()> {
        if self.batch_count == 0 {
            return Ok(());
        }
        for mut consumer in self.route.consumers.iter().map(AsRef::as_ref) {
            consumer.write_all(&self.output)?;
        }
        for count in &self.route.counts {
            count.fetch_add(self.batch_count, Ordering::Relaxed);
        }
        self.batch_count = 0;
        self.output.clear();
        if let Some(publisher) = publisher {
            publisher.write_all(&ack_frame(CHANNEL, self.message_count, true))?;
        }
        Ok(())
    }
}

/// Returns true if a method frame is a basic.publish.
fn is_publish(method: &[u8]) -> bool {
    method[FRAME_HEADER_SIZE..].starts_with(&BASIC_PUBLISH.to_be_bytes())
}

/// The body's size, of a whole content header.
#[inline]
fn body_size(header: &[u8]) -> Result<u64> {
    let size = header.get(BODY_SIZE_AT..).and_then(|rest| rest.first_chunk());
    size.map(|size| u64::from_be_bytes(*size)).context("half a content header")
}

/// The size of header and body at the front of `bytes`, if all of it is there.
#[inline]
fn content_size(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(mut at) = frame_size(bytes).filter(|&size| size <= bytes.len()) else { return Ok(None) };
    ensure!(bytes[0] == CONTENT_HEADER, "a publish without a content header");
    let mut body_left = body_size(bytes)?;
    while body_left > 0 {
        let Some(size) = frame_size(&bytes[at..]) else { return Ok(None) };
        let Some(end) = bytes.get(at + size - 1) else { return Ok(None) };
        ensure!(bytes[at] == BODY && *end == FRAME_END, "a content without its body");
        let left = body_left.checked_sub((size - FRAME_HEADER_SIZE - 1) as u64);
        body_left = left.context("a body that is too long")?;
        at += size;
    }
    Ok(Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD_SIZE: usize = 27;

    /// A relay that forgets, its queue, and `count` publishes.
    fn publishes(registry: &Registry, body_size: usize, count: usize) -> (Relay, Vec<u8>) {
        let mut bytes = Vec::new();
        for _ in 0..count {
            push_publish(&mut bytes, ("bench", "key.0"), &vec![0; body_size], 4096);
        }
        let binding = ("bench".to_owned(), "key.0".to_owned());
        registry.change("queue.0", |queue| queue.bindings.push(binding));
        let mut relay = Relay::default();
        relay.change_route(&bytes[..METHOD_SIZE], registry.route("bench", "key.0"));
        (relay, bytes)
    }

    #[test]
    fn messages_without_a_consumer_are_counted_wherever_reads_cut_them() {
        for body_size in [16, 10_000] {
            let registry = Registry::default();
            let (mut relay, bytes) = publishes(&registry, body_size, 3);
            let mut expected = 0;
            for cut in 0..bytes.len() {
                let consumed = relay.take(&bytes[..cut]).unwrap();
                let rest = relay.take(&bytes[consumed..]).unwrap();
                assert_eq!(consumed + rest, bytes.len());
                relay.flush(None::<&mut Vec<u8>>).unwrap();
                expected += 3;
                let count = registry.change("queue.0", |queue| queue.message_count.load(Ordering::Relaxed));
                assert_eq!(count, expected, "{cut} of {body_size}");
            }
        }
    }

    #[test]
    fn an_indifferent_relay_counts_messages_with_any_key() {
        let registry = Registry::default();
        let (route, mut bytes) = publishes(&registry, 16, 1);
        for key in ["key.1", "key.22"] {
            push_publish(&mut bytes, ("bench", key), &[0; 16], 4096);
        }
        for cut in 0..bytes.len() {
            let mut relay = Relay::new(true);
            relay.change_route(&route.method, registry.route("bench", "key.0"));
            let consumed = relay.take(&bytes[..cut]).unwrap();
            assert_eq!(consumed + relay.take(&bytes[consumed..]).unwrap(), bytes.len(), "{cut}");
            assert_eq!(relay.counts(), (3, 3), "{cut}");
        }
    }

    #[test]
    fn what_is_no_publish_is_left_to_others() {
        let registry = Registry::default();
        let (mut relay, mut bytes) = publishes(&registry, 16, 2);
        let whole = bytes.len();
        push_publish(&mut bytes, ("other", "key.0"), b"abc", 4096);
        assert_eq!(relay.take(&bytes).unwrap(), whole);
        assert_eq!(relay.take(&bytes[whole..]).unwrap(), 0);
    }

    #[test]
    fn a_publisher_that_asks_is_told_how_far_it_is() {
        let (mut relay, bytes) = publishes(&Registry::default(), 16, 5);
        relay.take(&bytes).unwrap();
        let mut confirms = Vec::new();
        relay.flush(Some(&mut confirms)).unwrap();
        assert_eq!(
            confirms,
            b"\x01\x00\x01\x00\x00\x00\x0d\x00\x3c\x00\x50\x00\x00\x00\x00\x00\x00\x00\x05\x01\xce"
        );
        relay.flush(Some(&mut confirms)).unwrap();
        assert_eq!(confirms.len(), 21);
    }
}
