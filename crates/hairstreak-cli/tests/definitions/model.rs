//! The operations of the clients, and the expected state after each.
//!
//! Each client has exchanges, queues and bindings of its own, whose state is the state after one of its operations. Every client
//! declares the shared queues, which are never deleted.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use hairstreak_wire::amqp::{FieldTable, Method, exchange, queue};

pub const EXCHANGES: usize = 3;
pub const QUEUES: usize = 4;
pub const KEYS: usize = 2;
/// The number of shared queues in a round.
pub const SHARED: usize = 50;
/// The fanout exchange that exchanges are bound to.
pub const SINK: &str = "sink";

/// The source of a binding: an exchange of the client, or `amq.direct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Own(usize),
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    Queue(usize),
    Sink,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binding {
    pub source: Source,
    pub destination: Destination,
    pub key: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    DeclareExchange {
        exchange: usize,
        is_auto_delete: bool,
    },
    DeleteExchange {
        exchange: usize,
    },
    DeclareQueue {
        queue: usize,
        is_limited: bool,
    },
    DeleteQueue {
        queue: usize,
    },
    Bind(Binding),
    Unbind(Binding),
    /// A shared queue, by its number in the round.
    DeclareShared {
        number: usize,
    },
}

/// The durable objects of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// For each exchange, `true` if it is deleted with its last binding.
    pub exchanges: BTreeMap<usize, bool>,
    /// For each queue, `true` if it has a limit.
    pub queues: BTreeMap<usize, bool>,
    pub bindings: BTreeSet<Binding>,
}

impl State {
    pub fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::DeclareExchange { exchange, is_auto_delete } => {
                self.exchanges.insert(exchange, is_auto_delete);
            }
            Operation::DeleteExchange { exchange } => {
                self.exchanges.remove(&exchange);
                self.bindings.retain(|binding| binding.source != Source::Own(exchange));
            }
            Operation::DeclareQueue { queue, is_limited } => {
                self.queues.insert(queue, is_limited);
            }
            Operation::DeleteQueue { queue } => {
                self.queues.remove(&queue);
                self.unbind(|binding| binding.destination == Destination::Queue(queue));
            }
            Operation::Bind(binding) => {
                self.bindings.insert(binding);
            }
            Operation::Unbind(gone) => self.unbind(|binding| *binding == gone),
            Operation::DeclareShared { .. } => {}
        }
    }

    /// Removes bindings, and exchanges that are deleted with their last binding.
    fn unbind(&mut self, is_gone: impl Fn(&Binding) -> bool) {
        let gone: Vec<Binding> = self.bindings.iter().filter(|binding| is_gone(binding)).copied().collect();
        for binding in gone {
            self.bindings.remove(&binding);
            let Source::Own(exchange) = binding.source else { continue };
            let is_last = self.bindings.iter().all(|other| other.source != binding.source);
            if is_last && self.exchanges.get(&exchange) == Some(&true) {
                self.exchanges.remove(&exchange);
            }
        }
    }

    /// A random operation that is granted in this state.
    pub fn random_operation(&self, rng: &mut Rng, next_shared: &mut usize) -> Operation {
        loop {
            let (exchange, queue, flag) = (rng.usize(..EXCHANGES), rng.usize(..QUEUES), rng.bool());
            let binding = random_binding(rng);
            match rng.u8(..16) {
                0..2 if self.exchanges.get(&exchange).is_none_or(|kind| *kind == flag) => {
                    return Operation::DeclareExchange { exchange, is_auto_delete: flag };
                }
                2 => return Operation::DeleteExchange { exchange },
                3..6 if self.queues.get(&queue).is_none_or(|kind| *kind == flag) => {
                    return Operation::DeclareQueue { queue, is_limited: flag };
                }
                6 => return Operation::DeleteQueue { queue },
                7..12 if self.has_ends(&binding) => return Operation::Bind(binding),
                12..14 if self.has_ends(&binding) => return Operation::Unbind(binding),
                14 => {
                    *next_shared = *next_shared % SHARED + 1;
                    return Operation::DeclareShared { number: *next_shared };
                }
                _ => {}
            }
        }
    }

    fn has_ends(&self, binding: &Binding) -> bool {
        let has_source =
            matches!(binding.source, Source::Own(exchange) if self.exchanges.contains_key(&exchange));
        let has_destination = match binding.destination {
            Destination::Queue(queue) => self.queues.contains_key(&queue),
            Destination::Sink => true,
        };
        (has_source || binding.source == Source::Direct) && has_destination
    }
}

fn random_binding(rng: &mut Rng) -> Binding {
    let source = rng.usize(..EXCHANGES + 1);
    let destination = rng.usize(..QUEUES + 1);
    Binding {
        source: if source < EXCHANGES { Source::Own(source) } else { Source::Direct },
        destination: if destination < QUEUES { Destination::Queue(destination) } else { Destination::Sink },
        key: rng.usize(..KEYS),
    }
}

/// All bindings that a client may have.
pub fn all_bindings() -> impl Iterator<Item = Binding> {
    let sources = (0..EXCHANGES).map(Source::Own).chain([Source::Direct]);
    let destinations = || (0..QUEUES).map(Destination::Queue).chain([Destination::Sink]);
    sources.flat_map(move |source| {
        destinations()
            .flat_map(move |destination| (0..KEYS).map(move |key| Binding { source, destination, key }))
    })
}

/// The names of a client's objects.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pub client: usize,
    pub round: usize,
}

impl Names {
    pub fn exchange(self, exchange: usize) -> String {
        format!("c{}.x{exchange}", self.client)
    }

    pub fn queue(self, queue: usize) -> String {
        format!("c{}.q{queue}", self.client)
    }

    pub fn shared(self, number: usize) -> String {
        format!("shared.{}.{number}", self.round)
    }

    pub fn source(self, source: Source) -> String {
        match source {
            Source::Own(exchange) => self.exchange(exchange),
            Source::Direct => "amq.direct".into(),
        }
    }

    /// The unique routing key of a binding.
    pub fn key(self, binding: &Binding) -> String {
        format!("c{} {binding:?}", self.client)
    }

    /// The bytes of an operation.
    pub fn encode(self, operation: Operation, no_wait: bool, out: &mut Vec<u8>) {
        let channel = crate::client::CHANNEL;
        match operation {
            Operation::DeclareExchange { exchange, is_auto_delete } => {
                let name = self.exchange(exchange);
                let mut declare = exchange_declaration(&name, is_auto_delete);
                declare.no_wait = no_wait;
                Method::ExchangeDeclare(declare).encode(channel, out);
            }
            Operation::DeleteExchange { exchange } => {
                let name = self.exchange(exchange);
                let delete = exchange::Delete { exchange: name.as_bytes(), if_unused: false, no_wait };
                Method::ExchangeDelete(delete).encode(channel, out);
            }
            Operation::DeclareQueue { queue, is_limited } => {
                let name = self.queue(queue);
                let declare = queue::Declare { no_wait, ..queue_declaration(&name, is_limited) };
                Method::QueueDeclare(declare).encode(channel, out);
            }
            Operation::DeclareShared { number } => {
                let name = self.shared(number);
                let declare = queue::Declare { no_wait, ..queue_declaration(&name, false) };
                Method::QueueDeclare(declare).encode(channel, out);
            }
            Operation::DeleteQueue { queue } => {
                let name = self.queue(queue);
                let delete = queue::Delete { queue: name.as_bytes(), no_wait, ..Default::default() };
                Method::QueueDelete(delete).encode(channel, out);
            }
            Operation::Bind(binding) => self.encode_binding(&binding, no_wait, out),
            Operation::Unbind(binding) => self.encode_unbinding(&binding, out),
        }
    }

    fn encode_binding(self, binding: &Binding, no_wait: bool, out: &mut Vec<u8>) {
        let (source, key) = (self.source(binding.source), self.key(binding));
        let (source, routing_key) = (source.as_bytes(), key.as_bytes());
        let arguments = FieldTable::new();
        match binding.destination {
            Destination::Queue(queue) => {
                let name = self.queue(queue);
                let queue = name.as_bytes();
                let bind = queue::Bind { queue, exchange: source, routing_key, no_wait, arguments };
                Method::QueueBind(bind).encode(crate::client::CHANNEL, out);
            }
            Destination::Sink => {
                let destination = SINK.as_bytes();
                let bind = exchange::Bind { destination, source, routing_key, no_wait, arguments };
                Method::ExchangeBind(bind).encode(crate::client::CHANNEL, out);
            }
        }
    }

    fn encode_unbinding(self, binding: &Binding, out: &mut Vec<u8>) {
        let (source, key) = (self.source(binding.source), self.key(binding));
        let (source, routing_key) = (source.as_bytes(), key.as_bytes());
        let arguments = FieldTable::new();
        match binding.destination {
            Destination::Queue(queue) => {
                let name = self.queue(queue);
                let queue = name.as_bytes();
                let unbind = queue::Unbind { queue, exchange: source, routing_key, arguments };
                Method::QueueUnbind(unbind).encode(crate::client::CHANNEL, out);
            }
            Destination::Sink => {
                let destination = SINK.as_bytes();
                let unbind = exchange::Unbind { destination, source, routing_key, no_wait: false, arguments };
                Method::ExchangeUnbind(unbind).encode(crate::client::CHANNEL, out);
            }
        }
    }
}

pub fn exchange_declaration(name: &str, is_auto_delete: bool) -> exchange::Declare<'_> {
    exchange::Declare {
        exchange: name.as_bytes(),
        kind: b"direct",
        durable: true,
        auto_delete: is_auto_delete,
        ..Default::default()
    }
}

pub fn queue_declaration(name: &str, is_limited: bool) -> queue::Declare<'_> {
    let mut arguments = FieldTable::new();
    if is_limited {
        arguments.insert("x-max-length", 10);
    }
    queue::Declare { queue: name.as_bytes(), durable: true, arguments, ..Default::default() }
}
