//! Queues, bindings and consumers of the limit program.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::amqp::{Argument, BASIC_DELIVER, CHANNEL, FRAME_HEADER_SIZE, push_method};

/// Shared by all connections.
#[derive(Debug, Default)]
pub struct Registry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queues: Vec<Queue>,
    bindings: Vec<Binding>,
}

#[derive(Debug)]
struct Queue {
    name: String,
    /// Messages that came; all of them are gone.
    message_count: Arc<AtomicU64>,
    consumer: Option<Consumer>,
}

#[derive(Clone, Debug)]
struct Consumer {
    stream: Arc<TcpStream>,
    tag: String,
}

#[derive(Debug)]
struct Binding {
    queue: String,
    exchange: String,
    key: String,
}

/// Where the messages of one exchange and key go, and the method frame that they get.
#[derive(Debug, Default)]
pub struct Route {
    /// The counts of its queues.
    pub counts: Vec<Arc<AtomicU64>>,
    /// The consumers' sockets.
    pub consumers: Vec<Arc<TcpStream>>,
    /// basic.deliver with all but the delivery tag.
    pub deliver: Vec<u8>,
    /// Where the delivery tag is in it.
    pub tag_at: usize,
}

impl Registry {
    /// Declares a queue, and says how many messages came.
    pub fn declare(&self, name: &str) -> u64 {
        self.change(|state| {
            if let Some(queue) = state.queues.iter().find(|queue| queue.name == name) {
                return queue.message_count.load(Ordering::Relaxed);
            }
            state.queues.push(Queue { name: name.to_owned(), message_count: Arc::default(), consumer: None });
            0
        })
    }

    /// Binds a queue. Whatever its exchange is, keys have to be equal.
    pub fn bind(&self, queue: &str, exchange: &str, key: &str) {
        let binding = Binding { queue: queue.to_owned(), exchange: exchange.to_owned(), key: key.to_owned() };
        self.change(|state| state.bindings.push(binding));
    }

    /// Removes a queue and its bindings.
    pub fn delete(&self, name: &str) {
        self.change(|state| {
            state.queues.retain(|queue| queue.name != name);
            state.bindings.retain(|binding| binding.queue != name);
        });
    }

    /// Makes `stream` the consumer of a queue.
    pub fn consume(&self, name: &str, tag: &str, stream: Arc<TcpStream>) {
        self.change(|state| {
            if let Some(queue) = state.queues.iter_mut().find(|queue| queue.name == name) {
                queue.consumer = Some(Consumer { stream, tag: tag.to_owned() });
            }
        });
    }

    /// Where messages with this exchange and key go.
    pub fn route(&self, exchange: &str, key: &str) -> Route {
        self.change(|state| {
            let mut route = Route::default();
            for binding in &state.bindings {
                if binding.exchange != exchange || binding.key != key {
                    continue;
                }
                for queue in state.queues.iter().filter(|queue| queue.name == binding.queue) {
                    route.counts.push(Arc::clone(&queue.message_count));
                    if let Some(Consumer { stream, tag }) = &queue.consumer {
                        route.consumers.push(Arc::clone(stream));
                        route.name_consumer(tag, exchange, key);
                    }
                }
            }
            route
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Route {
    /// All consumers of a route have the same tag, so that one frame fits all.
    fn name_consumer(&mut self, tag: &str, exchange: &str, key: &str) {
        let arguments = [
            Argument::Short(tag),
            Argument::U64(0),
            Argument::U8(0),
            Argument::Short(exchange),
            Argument::Short(key),
        ];
        self.deliver.clear();
        push_method(&mut self.deliver, CHANNEL, BASIC_DELIVER, &arguments);
        self.tag_at = FRAME_HEADER_SIZE + 4 + 1 + tag.len();
    }
}
