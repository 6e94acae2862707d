//! Test of random events against a model without indexes, deadline queues or limits in reach.

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 3] = ["a", "b", "ba"];
const ORPHAN_LEASE_MAX_MS: u32 = 20;

#[derive(Clone, Debug)]
enum Event {
    Register { from: u8, name: usize, owner: u8, lease_ms: u32, at: u8 },
    Unregister { from: u8, name: usize, owner: u8 },
    Lookup { from: u8, name: usize, wait_ms: u32 },
    Lose { gone: u8 },
    Pass { ms: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let (peers, owners, names) = (1..5u8, 1..4u8, 0..NAMES.len());
    prop_oneof![
        (peers.clone(), names.clone(), owners.clone(), 1..50u32, 1..4u8).prop_map(
            |(from, name, owner, lease_ms, at)| Event::Register { from, name, owner, lease_ms, at }
        ),
        (peers.clone(), names.clone(), owners).prop_map(|(from, name, owner)| Event::Unregister {
            from,
            name,
            owner
        }),
        (peers.clone(), names, 0..50u32).prop_map(|(from, name, wait_ms)| Event::Lookup {
            from,
            name,
            wait_ms
        }),
        peers.prop_map(|gone| Event::Lose { gone }),
        (0..30u64).prop_map(|ms| Event::Pass { ms }),
    ]
}

#[derive(Clone, Debug)]
struct Held {
    owner: u8,
    peer: Option<u8>,
    at: u8,
    until: Duration,
}

struct Waiting {
    id: u64,
    peer: u8,
    name: usize,
    until: Duration,
}

#[derive(Default)]
struct Model {
    held: [Option<Held>; NAMES.len()],
    waiting: Vec<Waiting>,
    /// Expected replies, in any order.
    expected: Vec<(Peer, u64, Reply)>,
}

impl Model {
    fn pass_to(&mut self, now: Duration) {
        for held in &mut self.held {
            held.take_if(|held| held.until <= now);
        }
        for over in self.waiting.extract_if(.., |waiting| waiting.until <= now) {
            self.expected.push((peer(over.peer), over.id, not_found(NAMES[over.name])));
        }
    }

    fn register(&mut self, id: u64, name: usize, lease_ms: u32, new: Held) {
        let from = new.peer.unwrap();
        if let Some(before) = &self.held[name]
            && before.owner != new.owner
            && before.peer.is_some()
        {
            let reply = Reply::Duplicate { name: super::name(NAMES[name]), endpoint: endpoint(before.at) };
            self.expected.push((peer(from), id, reply));
            return;
        }
        for waiting in self.waiting.extract_if(.., |waiting| waiting.name == name) {
            self.expected.push((peer(waiting.peer), waiting.id, found(NAMES[name], new.at)));
        }
        self.held[name] = Some(new);
        self.expected.push((peer(from), id, Reply::Ok { lease_ms }));
    }

    fn unregister(&mut self, id: u64, from: u8, name: usize, owner: u8) {
        let text = NAMES[name];
        let reply = match &self.held[name] {
            None => not_found(text),
            Some(held) if held.owner == owner => {
                self.held[name] = None;
                Reply::Ok { lease_ms: 0 }
            }
            Some(held) => Reply::Duplicate { name: super::name(text), endpoint: endpoint(held.at) },
        };
        self.expected.push((peer(from), id, reply));
    }

    fn lookup(&mut self, id: u64, from: u8, name: usize, wait_ms: u32, now: Duration) {
        let reply = match &self.held[name] {
            Some(held) => found(NAMES[name], held.at),
            None if wait_ms == 0 => not_found(NAMES[name]),
            None => {
                let until = now + Duration::from_millis(wait_ms.into());
                return self.waiting.push(Waiting { id, peer: from, name, until });
            }
        };
        self.expected.push((peer(from), id, reply));
    }

    fn lose(&mut self, gone: u8, now: Duration) {
        self.waiting.retain(|waiting| waiting.peer != gone);
        for held in self.held.iter_mut().flatten() {
            if held.peer.take_if(|peer| *peer == gone).is_some() {
                held.until = held.until.min(now + Duration::from_millis(ORPHAN_LEASE_MAX_MS.into()));
            }
        }
    }
}

fn step(bench: &mut Bench, model: &mut Model, event: Event) {
    match event {
        Event::Register { from, name, owner, lease_ms, at } => {
            let id = bench.send(from, register(NAMES[name], owner, lease_ms, at));
            let until = bench.now + Duration::from_millis(lease_ms.into());
            model.register(id, name, lease_ms, Held { owner, peer: Some(from), at, until });
        }
        Event::Unregister { from, name, owner } => {
            let id = bench.send(from, unregister(NAMES[name], owner));
            model.unregister(id, from, name, owner);
        }
        Event::Lookup { from, name, wait_ms } => {
            let id = bench.send(from, lookup(NAMES[name], wait_ms));
            model.lookup(id, from, name, wait_ms, bench.now);
        }
        Event::Lose { gone } => {
            bench.lose(gone);
            model.lose(gone, bench.now);
        }
        Event::Pass { ms } => {
            bench.pass(ms);
            model.pass_to(bench.now);
        }
    }
}

proptest! {
    #[test]
    fn random_events_have_the_effects_that_the_model_says(events in prop::collection::vec(event(), 0..120)) {
        let mut bench =
            Bench::new(Options { orphan_lease_max_ms: ORPHAN_LEASE_MAX_MS, ..Options::default() });
        let mut model = Model::default();
        for event in events {
            step(&mut bench, &mut model, event);
            let mut got = std::mem::take(&mut bench.said.replies);
            let mut expected = std::mem::take(&mut model.expected);
            got.sort_by_key(|(_, id, _)| *id);
            expected.sort_by_key(|(_, id, _)| *id);
            prop_assert_eq!(got, expected);
            prop_assert_eq!(bench.directory.entry_count(), model.held.iter().flatten().count());
            prop_assert_eq!(bench.directory.waiter_count(), model.waiting.len());
            let next = model.held.iter().flatten().map(|held| held.until)
                .chain(model.waiting.iter().map(|waiting| waiting.until)).min();
            prop_assert_eq!(bench.directory.next_timeout(), next);
        }
        // All peers go, and no state is left.
        (1..5).for_each(|gone| bench.lose(gone));
        prop_assert_eq!(bench.directory.waiter_count(), 0);
        bench.pass(ORPHAN_LEASE_MAX_MS.into());
        prop_assert_eq!((bench.directory.entry_count(), bench.directory.next_timeout()), (0, None));
    }
}
