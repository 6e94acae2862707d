//! `Bench`: exchanges and queues by name, so that the tests read like the requests of clients.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use crate::exchange::{Cacheable, Destination, ExchangeDeclaration, Exchanges, Routing};
use crate::queue::{QueueDeclaration, QueueId};
use crate::refusal::Refusal;
use crate::steps::Steps;

/// No queue.
pub(super) const NOWHERE: [u32; 0] = [];

/// Exchanges, and queues with the names q0, q1 and so on.
pub(super) struct Bench {
    pub(super) exchanges: Exchanges,
    pub(super) loads: Vec<u64>,
}

impl Bench {
    pub(super) fn new(queue_count: u32) -> Bench {
        let mut exchanges = Exchanges::new("/");
        for number in 0..queue_count {
            exchanges.topology.add_queue(&named(&format!("q{number}")), QueueId(number));
        }
        Bench { exchanges, loads: vec![0; queue_count as usize] }
    }

    /// A bench with one exchange `x`, and queues that are bound to it by these keys.
    pub(super) fn bound(kind: &str, keys: &[&str]) -> Bench {
        let mut bench = Bench::new(keys.len() as u32);
        bench.declare("x", kind);
        for (number, key) in keys.iter().enumerate() {
            bench.bind("x", number as u32, key);
        }
        bench
    }

    pub(super) fn declare(&mut self, name: &str, kind: &str) {
        self.exchanges.declare(&declaration(name, kind)).unwrap();
    }

    pub(super) fn declare_with(&mut self, name: &str, kind: &str, arguments: FieldTable) {
        let arguments = arguments.into();
        self.exchanges.declare(&ExchangeDeclaration { arguments, ..declaration(name, kind) }).unwrap();
    }

    pub(super) fn bind(&mut self, exchange: &str, queue: u32, key: &str) {
        self.bind_with(exchange, queue, key, &FieldTable::new()).unwrap();
    }

    pub(super) fn bind_with(
        &mut self,
        exchange: &str,
        queue: u32,
        key: &str,
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        self.exchanges.bind_queue(exchange.as_bytes(), QueueId(queue), key.as_bytes(), arguments)
    }

    pub(super) fn unbind(&mut self, exchange: &str, queue: u32, key: &str) {
        let none = FieldTable::new();
        self.exchanges.unbind_queue(exchange.as_bytes(), QueueId(queue), key.as_bytes(), &none).unwrap();
    }

    pub(super) fn bind_exchange(&mut self, destination: &str, source: &str, key: &str) {
        let (destination, source) = (destination.as_bytes(), source.as_bytes());
        self.exchanges.bind_exchange(destination, source, key.as_bytes(), &FieldTable::new()).unwrap();
    }

    /// The queues that a message gets to, in order, and whether that may be kept.
    pub(super) fn try_route(&mut self, message: &Routing<'_>) -> Result<(Vec<u32>, Cacheable), Refusal> {
        let (exchanges, loads) = (&mut self.exchanges, &self.loads);
        let mut targets = vec![QueueId(77)];
        let load = |queue: QueueId| loads[queue.0 as usize];
        let cacheable = exchanges.route(message, &load, &mut targets)?;
        let mut queues: Vec<u32> = targets.iter().map(|queue| queue.0).collect();
        queues.sort();
        Ok((queues, cacheable))
    }

    pub(super) fn route_message(&mut self, message: &Routing<'_>) -> Vec<u32> {
        self.try_route(message).unwrap().0
    }

    pub(super) fn route(&mut self, exchange: &str, key: &str) -> Vec<u32> {
        self.route_message(&Routing::new(exchange.as_bytes(), key.as_bytes()))
    }

    pub(super) fn route_headers(&mut self, exchange: &str, headers: &FieldTable) -> Vec<u32> {
        self.route_message(&Routing { headers: Some(headers), ..Routing::new(exchange.as_bytes(), b"") })
    }

    /// Asserts that only the objects of each new virtual host are left.
    pub(super) fn check_nothing_left(&self) {
        assert_eq!(
            (self.exchanges.topology.exchange_count(), self.exchanges.topology.binding_count()),
            (6, 0)
        );
    }
}

pub(super) fn declaration(name: &str, kind: &str) -> ExchangeDeclaration {
    let (name, kind) = (name.as_bytes().into(), kind.as_bytes().into());
    ExchangeDeclaration { name, kind, ..ExchangeDeclaration::default() }
}

pub(super) fn table<const N: usize>(fields: [(&str, FieldValue); N]) -> FieldTable {
    FieldTable::from_iter(fields)
}

/// The error text that a client reads.
pub(super) fn text(refused: Result<(), Refusal>) -> String {
    refused.unwrap_err().to_string()
}

/// The declaration of a queue with that name.
pub(super) fn named(name: &str) -> QueueDeclaration {
    QueueDeclaration { name: name.as_bytes().into(), ..QueueDeclaration::default() }
}

/// Removes a queue with its bindings, and the exchanges that go with them.
pub(super) fn remove_queue(exchanges: &mut Exchanges, queue: QueueId) {
    let (topology, steps) = (&mut exchanges.topology, &mut Steps::unlimited());
    topology.unbind_all_to(Destination::Queue(queue), steps);
    topology.forget_queue(queue);
    topology.remove_going(steps);
}
