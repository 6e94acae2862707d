//! A host that records, beside the definitions that its changes make.

use std::collections::BTreeMap;

use hairstreak_testkit::Rng;

use super::super::*;
use crate::change::Change;
use crate::exchange::ExchangeDeclaration;
use crate::view::BindingInfo;

const EXCHANGES: [&str; 6] = ["a", "b", "c", "d", "amq.topic", "amq.headers"];
const QUEUES: [&str; 5] = ["q", "r", "s", "t", "u"];
const KINDS: [&str; 4] = ["direct", "fanout", "topic", "headers"];
const CONNECTIONS: [ConnectionId; 2] = [ALICE, BOB];

/// Definitions by their identifying keys.
#[derive(Debug, Default, PartialEq)]
struct Definitions {
    exchanges: BTreeMap<String, ExchangeDeclaration>,
    queues: BTreeMap<String, QueueDeclaration>,
    bindings: BTreeMap<String, BindingInfo>,
}

impl Definitions {
    /// Applies a change, which must have an effect.
    fn apply(&mut self, change: Change) {
        let key = |binding: &BindingInfo| format!("{binding:?}");
        match change {
            Change::ExchangeDeclared(declaration) => {
                assert_eq!(self.exchanges.insert(text(&declaration.name), declaration), None);
            }
            Change::QueueDeclared(declaration) => {
                assert_eq!(self.queues.insert(text(&declaration.name), declaration), None);
            }
            Change::Bound(binding) => assert_eq!(self.bindings.insert(key(&binding), binding), None),
            Change::ExchangeDeleted { name } => {
                let is_end = |binding: &BindingInfo| {
                    binding.source == name || binding.is_to_exchange && binding.destination == name
                };
                assert!(!self.bindings.values().any(is_end), "{name:?} goes before its bindings");
                assert!(self.exchanges.remove(&text(&name)).is_some());
            }
            Change::QueueDeleted { name } => {
                let is_end = |binding: &BindingInfo| !binding.is_to_exchange && binding.destination == name;
                assert!(!self.bindings.values().any(is_end), "{name:?} goes before its bindings");
                assert!(self.queues.remove(&text(&name)).is_some());
            }
            Change::Unbound(binding) => assert!(self.bindings.remove(&key(&binding)).is_some()),
        }
    }

    /// Returns the durable part of a host's views.
    fn of(host: &VirtualHost) -> Definitions {
        let (mut exchanges, mut queues, mut bindings) = (Vec::new(), Vec::new(), Vec::new());
        assert_eq!(host.topology().exchange_infos(0, 1, &mut exchanges), Some(1));
        exchanges.clear();
        assert_eq!(host.topology().exchange_infos(1, 1_000, &mut exchanges), None);
        assert_eq!(host.queue_infos(0, 1_000, &mut queues), None);
        assert_eq!(host.topology().binding_infos(0, 1_000, &mut bindings), None);
        let mut definitions = Definitions::default();
        for shown in
            exchanges.into_iter().filter(|shown| shown.is_durable && !shown.name.starts_with(b"amq."))
        {
            let declaration = ExchangeDeclaration {
                name: shown.name,
                kind: shown.kind,
                is_durable: true,
                is_auto_delete: shown.is_auto_delete,
                is_internal: shown.is_internal,
                arguments: shown.arguments,
            };
            definitions.apply(Change::ExchangeDeclared(declaration));
        }
        for shown in queues.into_iter().filter(|shown| shown.is_durable) {
            let declaration = QueueDeclaration {
                log_id: 0,
                name: shown.name,
                is_durable: true,
                is_exclusive: false,
                is_auto_delete: shown.is_auto_delete,
                arguments: shown.arguments,
            };
            definitions.apply(Change::QueueDeclared(declaration));
        }
        for binding in bindings {
            let is_kept =
                |name: &[u8]| name.starts_with(b"amq.") || definitions.exchanges.contains_key(&text(name));
            let is_kept_queue = definitions.queues.contains_key(&text(&binding.destination));
            let has_kept_end =
                if binding.is_to_exchange { is_kept(&binding.destination) } else { is_kept_queue };
            if is_kept(&binding.source) && has_kept_end {
                definitions.apply(Change::Bound(binding));
            }
        }
        definitions
    }

    /// A host that has these definitions and nothing else.
    fn restored(&self) -> VirtualHost {
        let mut host = VirtualHost::new("/", Limits::default());
        host.changes_mut().record(true);
        let exchanges = self.exchanges.values().cloned().map(Change::ExchangeDeclared);
        let queues = self.queues.values().cloned().map(Change::QueueDeclared);
        let bindings = self.bindings.values().cloned().map(Change::Bound);
        for change in exchanges.chain(queues).chain(bindings) {
            host.restore(&change, 0).unwrap();
        }
        assert!(host.changes_mut().is_empty());
        host
    }
}

pub(super) struct World {
    bench: Bench,
    definitions: Definitions,
    channels: Vec<ChannelId>,
    rng: Rng,
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut bench = Bench::new();
        bench.host.changes_mut().record(true);
        let channels = CONNECTIONS.map(|connection| bench.open(connection)).to_vec();
        World { bench, definitions: Definitions::default(), channels, rng: Rng::with_seed(seed) }
    }

    pub(super) fn run(&mut self, count: usize) {
        for step in 0..count {
            self.step();
            let changes = self.bench.host.changes_mut().take();
            changes.into_iter().for_each(|change| self.definitions.apply(change));
            assert_eq!(Definitions::of(&self.bench.host), self.definitions);
            if step % 50 == 0 {
                assert_eq!(Definitions::of(&self.definitions.restored()), self.definitions);
            }
        }
    }

    fn any<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.usize(0..all.len())]
    }

    fn some_arguments(&mut self) -> FieldTable {
        match self.rng.u8(0..3) {
            0 => arguments([("b", 1.into()), ("a", "x".into())]),
            1 => arguments([("x-match", "any".into())]),
            _ => FieldTable::new(),
        }
    }

    /// Does something that may be refused.
    fn step(&mut self) {
        let (exchange, other) = (self.any(&EXCHANGES).as_bytes(), self.any(&EXCHANGES).as_bytes());
        let (queue, owner) = (self.any(&QUEUES).as_bytes(), self.any(&CONNECTIONS));
        let (key, arguments) = (self.any(&["", "k", "k.#"]).as_bytes(), self.some_arguments());
        let Bench { host, now, said } = &mut self.bench;
        let (now, exchanges) = (*now, host.exchanges_mut());
        let _: Result<(), Refusal> = match self.rng.u8(0..40) {
            0..6 => {
                let declaration = ExchangeDeclaration {
                    name: exchange.into(),
                    kind: KINDS[self.rng.usize(0..KINDS.len())].as_bytes().into(),
                    is_durable: self.rng.u8(0..4) > 0,
                    is_auto_delete: self.rng.bool(),
                    is_internal: self.rng.u8(0..4) == 0,
                    arguments: EncodedTable::default(),
                };
                exchanges.declare(&declaration)
            }
            6..8 => exchanges.delete(exchange, self.rng.bool()),
            8..14 => exchanges.bind_exchange(exchange, other, key, &arguments),
            14..16 => exchanges.unbind_exchange(exchange, other, key, &arguments),
            16..22 => self.declare(queue, owner),
            22..24 => host.delete_queue(owner, queue, false, false, now, said).map(drop),
            24..33 => host.bind_queue(owner, queue, exchange, key, &arguments),
            33..35 => host.unbind_queue(owner, queue, exchange, key, &arguments),
            35..38 => self.consume(queue),
            38 => self.reconnect(owner),
            _ => {
                self.bench.pass(30);
                Ok(())
            }
        };
    }

    fn declare(&mut self, queue: &[u8], owner: ConnectionId) -> Result<(), Refusal> {
        let expires = self.rng.u8(0..4) == 0;
        let declaration = QueueDeclaration {
            log_id: 0,
            name: queue.into(),
            is_durable: self.rng.u8(0..4) > 0,
            is_exclusive: self.rng.u8(0..4) == 0,
            is_auto_delete: self.rng.u8(0..4) == 0,
            arguments: if expires {
                arguments([("x-expires", 50.into())]).into()
            } else {
                EncodedTable::default()
            },
        };
        self.bench.host.declare_queue(owner, &declaration, self.bench.now).map(drop)
    }

    fn consume(&mut self, queue: &[u8]) -> Result<(), Refusal> {
        let channel = self.any(&self.channels.clone());
        let Bench { host, now, said } = &mut self.bench;
        if self.rng.bool() {
            host.cancel(channel, queue, *now, said);
            return Ok(());
        }
        let declaration = ConsumerDeclaration {
            queue,
            consumer_tag: queue,
            no_ack: true,
            is_exclusive: false,
            arguments: &FieldTable::new(),
        };
        host.consume(channel, &declaration, *now, said, |_, _| {})
    }

    fn reconnect(&mut self, connection: ConnectionId) -> Result<(), Refusal> {
        self.bench.disconnect(connection);
        let opened = self.bench.host.open_channel(connection, 1)?;
        self.channels = vec![opened];
        for other in CONNECTIONS.into_iter().filter(|other| *other != connection) {
            self.channels.push(self.bench.host.open_channel(other, 2)?);
        }
        Ok(())
    }
}
