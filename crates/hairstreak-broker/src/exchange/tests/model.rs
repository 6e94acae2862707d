//! Random topologies against a model that has no index, no trie and no cache.

use std::collections::{BTreeMap, BTreeSet};

use hairstreak_wire::amqp::{FieldTable, FieldValue};
use proptest::prelude::*;

use super::bench::{Bench, declaration, named, remove_queue, table};
use crate::exchange::{ExchangeDeclaration, Routing};
use crate::queue::QueueId;

const NAMES: [&str; 5] = ["v", "w", "x", "y", "z"];
const KINDS: [&str; 4] = ["direct", "fanout", "topic", "headers"];
const KEYS: [&str; 8] = ["", "a", "b", "a.b", "a.*", "#", "#.b", "*.*"];
const QUEUE_COUNT: u32 = 4;

type Name = &'static str;

/// Arguments of bindings, and headers of messages.
fn fields(number: usize) -> FieldTable {
    match number {
        0 => FieldTable::new(),
        1 => table([("a", 1.into())]),
        2 => table([("x-match", "any".into()), ("a", 2.into()), ("b", FieldValue::Void)]),
        _ => table([("b", 1.into()), ("a", 1.into())]),
    }
}

#[derive(Clone, Debug)]
enum Event {
    Declare { name: Name, kind: Name, is_auto_delete: bool, alternate: Option<Name> },
    Delete { name: Name, if_unused: bool },
    Bind { binding: Bound },
    Unbind { binding: Bound },
    Replace { queue: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Queue(u32),
    Exchange(Name),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bound {
    source: Name,
    destination: End,
    key: Name,
    arguments: usize,
}

fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(&NAMES[..])
}

fn bound() -> impl Strategy<Value = Bound> {
    let end = prop_oneof![2 => (0..QUEUE_COUNT).prop_map(End::Queue), 1 => name().prop_map(End::Exchange)];
    (name(), end, prop::sample::select(&KEYS[..]), 0..4_usize)
        .prop_map(|(source, destination, key, arguments)| Bound { source, destination, key, arguments })
}

fn event() -> impl Strategy<Value = Event> {
    let declare = (name(), prop::sample::select(&KINDS[..]), any::<bool>(), prop::option::of(name()))
        .prop_map(|(name, kind, is_auto_delete, alternate)| Event::Declare {
            name,
            kind,
            is_auto_delete,
            alternate,
        });
    prop_oneof![
        4 => declare,
        1 => (name(), any::<bool>()).prop_map(|(name, if_unused)| Event::Delete { name, if_unused }),
        8 => bound().prop_map(|binding| Event::Bind { binding }),
        4 => bound().prop_map(|binding| Event::Unbind { binding }),
        1 => (0..QUEUE_COUNT).prop_map(|queue| Event::Replace { queue }),
    ]
}

/// Type, auto-delete, and alternate exchange.
type Declared = (Name, bool, Option<Name>);

#[derive(Default)]
struct Model {
    exchanges: BTreeMap<Name, Declared>,
    bindings: BTreeSet<Bound>,
}

impl Model {
    /// The effect of an event, and whether the event is permitted.
    fn apply(&mut self, event: &Event) -> bool {
        match *event {
            Event::Declare { name, kind, is_auto_delete, alternate } => {
                let declared = (kind, is_auto_delete, alternate);
                *self.exchanges.entry(name).or_insert(declared) == declared
            }
            Event::Delete { name, if_unused } => {
                let is_used = self.bindings.iter().any(|binding| binding.source == name);
                let is_permitted = !(if_unused && is_used && self.exchanges.contains_key(name));
                if is_permitted {
                    self.remove_exchange(name);
                }
                is_permitted
            }
            Event::Bind { binding } => {
                let is_there = |name| self.exchanges.contains_key(name);
                let is_permitted = is_there(binding.source)
                    && match binding.destination {
                        End::Queue(_) => true,
                        End::Exchange(name) => is_there(name),
                    };
                if is_permitted {
                    self.bindings.insert(binding);
                }
                is_permitted
            }
            Event::Unbind { binding } => {
                self.remove(|other| *other == binding);
                true
            }
            Event::Replace { queue } => {
                self.remove(|binding| binding.destination == End::Queue(queue));
                true
            }
        }
    }

    fn remove_exchange(&mut self, name: Name) {
        self.exchanges.remove(name);
        self.bindings.retain(|binding| binding.source != name);
        self.remove(|binding| binding.destination == End::Exchange(name));
    }

    fn remove(&mut self, is_removed: impl Fn(&Bound) -> bool) {
        let removed: Vec<Bound> = self.bindings.extract_if(.., |binding| is_removed(binding)).collect();
        for Bound { source, .. } in removed {
            let is_unused = self.bindings.iter().all(|binding| binding.source != source);
            if is_unused && self.exchanges.get(source).is_some_and(|(_, is_auto_delete, _)| *is_auto_delete) {
                self.remove_exchange(source);
            }
        }
    }

    fn route(&self, first: Name, key: &str, headers: &FieldTable) -> Vec<u32> {
        let (mut queues, mut seen, mut next) = (BTreeSet::new(), BTreeSet::from([first]), vec![first]);
        while let Some((name, (kind, _, alternate))) = next.pop().map(|name| (name, self.exchanges[name])) {
            let matching = self.bindings.iter().filter(|binding| binding.source == name);
            let mut ends: Vec<End> = matching
                .filter(|binding| is_match(kind, binding, key, headers))
                .map(|binding| binding.destination)
                .collect();
            if ends.is_empty() {
                ends.extend(alternate.filter(|name| self.exchanges.contains_key(name)).map(End::Exchange));
            }
            for end in ends {
                match end {
                    End::Queue(queue) => drop(queues.insert(queue)),
                    End::Exchange(name) if seen.insert(name) => next.push(name),
                    End::Exchange(_) => {}
                }
            }
        }
        queues.into_iter().collect()
    }
}

fn is_match(kind: Name, binding: &Bound, key: &str, headers: &FieldTable) -> bool {
    let words = |text: &'static str| text.split('.').filter(|_| !text.is_empty()).collect::<Vec<_>>();
    match kind {
        "direct" => binding.key == key,
        "fanout" => true,
        "topic" => {
            let key: Vec<&str> = key.split('.').filter(|_| !key.is_empty()).collect();
            is_topic_match(&words(binding.key), &key)
        }
        _ => match binding.arguments {
            0 => true,
            1 => headers.get("a") == Some(&1.into()),
            2 => headers.get("a") == Some(&2.into()) || headers.get("b").is_some(),
            _ => headers.get("a") == Some(&1.into()) && headers.get("b") == Some(&1.into()),
        },
    }
}

fn is_topic_match(pattern: &[&str], key: &[&str]) -> bool {
    match (pattern, key) {
        ([], key) => key.is_empty(),
        (["#", rest @ ..], key) => (0..=key.len()).any(|count| is_topic_match(rest, &key[count..])),
        ([_, ..], []) => false,
        ([word, rest @ ..], [first, key @ ..]) => {
            (*word == "*" || word == first) && is_topic_match(rest, key)
        }
    }
}

fn apply(bench: &mut Bench, event: &Event) -> bool {
    let exchanges = &mut bench.exchanges;
    let applied = match *event {
        Event::Declare { name, kind, is_auto_delete, alternate } => {
            let arguments: FieldTable =
                alternate.map(|name| ("alternate-exchange", name)).into_iter().collect();
            let arguments = arguments.into();
            let declared = declaration(name, kind);
            exchanges.declare(&ExchangeDeclaration { is_auto_delete, arguments, ..declared })
        }
        Event::Delete { name, if_unused } => exchanges.delete(name.as_bytes(), if_unused),
        Event::Bind { binding: Bound { source, destination, key, arguments } } => {
            let (source, key, arguments) = (source.as_bytes(), key.as_bytes(), &fields(arguments));
            match destination {
                End::Queue(queue) => exchanges.bind_queue(source, QueueId(queue), key, arguments),
                End::Exchange(name) => exchanges.bind_exchange(name.as_bytes(), source, key, arguments),
            }
        }
        Event::Unbind { binding: Bound { source, destination, key, arguments } } => {
            let (source, key, arguments) = (source.as_bytes(), key.as_bytes(), &fields(arguments));
            match destination {
                End::Queue(queue) => exchanges.unbind_queue(source, QueueId(queue), key, arguments),
                End::Exchange(name) => exchanges.unbind_exchange(name.as_bytes(), source, key, arguments),
            }
        }
        Event::Replace { queue } => {
            remove_queue(exchanges, QueueId(queue));
            exchanges.topology.add_queue(&named(&format!("q{queue}")), QueueId(queue));
            Ok(())
        }
    };
    applied.is_ok()
}

fn check_routes(bench: &mut Bench, model: &Model) -> Result<(), TestCaseError> {
    for name in NAMES {
        for key in ["", "a", "a.b", "b.a.b"] {
            for number in [0, 1, 3] {
                let headers = fields(number);
                let message =
                    Routing { headers: Some(&headers), ..Routing::new(name.as_bytes(), key.as_bytes()) };
                let routed = bench.try_route(&message).map(|(queues, _)| queues).ok();
                let expected = model.exchanges.contains_key(name).then(|| model.route(name, key, &headers));
                prop_assert_eq!(routed, expected, "{} {:?} {:?}", name, key, headers);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn messages_reach_the_queues_that_the_model_says(events in prop::collection::vec(event(), 0..60)) {
        let mut bench = Bench::new(QUEUE_COUNT);
        let mut model = Model::default();
        for event in &events {
            prop_assert_eq!(apply(&mut bench, event), model.apply(event), "{:?}", event);
            prop_assert_eq!(bench.exchanges.topology.exchange_count(), 6 + model.exchanges.len());
            prop_assert_eq!(bench.exchanges.topology.binding_count(), model.bindings.len());
            check_routes(&mut bench, &model)?;
        }
        (0..QUEUE_COUNT).for_each(|queue| remove_queue(&mut bench.exchanges, QueueId(queue)));
        for name in NAMES {
            bench.exchanges.delete(name.as_bytes(), false).unwrap();
        }
        bench.check_nothing_left();
    }
}
