//! Random operations by seed against a list of messages. The messages have enough bytes to cause compaction.

use hairstreak_testkit::{Rng, Seeds};

use super::*;
use crate::message::Attributes;

/// A seed fills some ten megabytes, so that the long form is shorter than others.
const SEEDS: Seeds = Seeds { target: "-p hairstreak-broker --lib", soak_factor: 100 };

/// A message of the model.
struct Plain {
    id: MessageId,
    number: u64,
    size: usize,
    references: usize,
}

struct World {
    store: Store,
    plain: Vec<Plain>,
    rng: Rng,
    next_number: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let store = Store::new(Arc::new(SegmentPool::new(0)));
        World { store, plain: Vec::new(), rng: Rng::with_seed(seed), next_number: 0 }
    }

    /// Lets messages come until there are `most`, and go until there are `least`.
    fn run(&mut self, most: usize, least: usize) {
        while self.plain.len() < most {
            match self.rng.u8(0..10) {
                0..7 => self.add(),
                7 => self.retain(),
                _ => self.release(),
            }
        }
        while self.plain.len() > least {
            match self.rng.u8(0..10) {
                0 => self.add(),
                1 => self.retain(),
                _ => self.release(),
            }
        }
        (0..self.plain.len()).for_each(|index| self.check(index));
    }

    fn add(&mut self) {
        let size_max = if self.rng.u8(0..4) == 0 { 200_000 } else { 50_000 };
        let (number, size) = (self.next_number, self.rng.usize(16..size_max));
        self.next_number += 1;
        let mut body = vec![0; size];
        body[..8].copy_from_slice(&number.to_le_bytes());
        body[size - 8..].copy_from_slice(&number.to_le_bytes());
        let id = self.store.add(&Message {
            exchange: b"exchange",
            routing_key: number.to_string().as_bytes(),
            properties: &[0, 0],
            attributes: Attributes { priority: number as u8, ..Attributes::default() },
            body: BodyView::Copied(&body),
        });
        assert!(self.plain.iter().all(|other| other.id != id), "{id:?} is taken");
        self.plain.push(Plain { id, number, size, references: 1 });
    }

    fn retain(&mut self) {
        let Some(index) = self.any() else { return };
        self.store.retain(self.plain[index].id);
        self.plain[index].references += 1;
    }

    fn release(&mut self) {
        let Some(index) = self.any() else { return };
        self.check(index);
        self.store.release(self.plain[index].id);
        self.plain[index].references -= 1;
        if self.plain[index].references == 0 {
            self.plain.swap_remove(index);
        }
        assert_eq!(self.store.count(), self.plain.len());
    }

    fn any(&mut self) -> Option<usize> {
        (!self.plain.is_empty()).then(|| self.rng.usize(0..self.plain.len()))
    }

    fn check(&self, index: usize) {
        let Plain { id, number, size, .. } = self.plain[index];
        let view = self.store.view(id);
        let body = view.body.as_bytes();
        assert_eq!((body.len(), self.store.body_size(id) as usize), (size, size));
        assert_eq!([&body[..8], &body[size - 8..]], [number.to_le_bytes(); 2]);
        assert_eq!((view.routing_key, view.properties), (number.to_string().as_bytes(), &[0, 0][..]));
        assert_eq!(self.store.priority(id), number as u8);
    }
}

#[test]
fn messages_are_what_they_were_in_the_model() {
    SEEDS.check("messages_are_what_they_were", 100, |seed, _| {
        let mut world = World::new(seed);
        world.run(400, 20);
        world.run(200, 0);
        let least = Store::new(Arc::new(SegmentPool::new(0))).memory_bytes();
        assert!(world.store.memory_bytes() <= least + 3 * (1 << 20), "{}", world.store.memory_bytes());
    });
}
