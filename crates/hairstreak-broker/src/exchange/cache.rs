//! `RouteCache`: the queues of exchanges and routing keys that came before, as long as the generation is the same.
//!
//! Keys and queues lie in two lists, one behind the other, so that an entry needs no allocation and emptying the cache is cheap.
//! A full cache is emptied. Only one of eight missing routes is stored, at random. A frequent key is soon there. Keys that never
//! return mostly avoid the cost of storing them, and do not empty the cache for the others.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::destination::ExchangeId;
use crate::queue::QueueId;

/// Maximum number of routes.
const ROUTE_COUNT_MAX: usize = 65_536;
/// Maximum number of queues in all routes together.
const TARGET_COUNT_MAX: usize = 1 << 20;
/// Maximum number of bytes in all routing keys together.
const KEY_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct RouteCache {
    generation: u64,
    entries: HashTable<Entry>,
    hasher: RandomState,
    keys: Vec<u8>,
    targets: Vec<QueueId>,
    /// A linear congruential generator: which routes are taken.
    random: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    exchange: ExchangeId,
    key_start: u32,
    target_start: u32,
    target_count: u32,
    key_size: u8,
}

impl RouteCache {
    /// The queues of an exchange and a routing key, if they are known.
    pub(super) fn find(&mut self, generation: u64, exchange: ExchangeId, key: &[u8]) -> Option<&[QueueId]> {
        if self.generation != generation {
            self.clear();
            self.generation = generation;
        }
        let hash = hash_of(&self.hasher, exchange, key);
        let entry = self.entries.find(hash, |entry| self.is_of(entry, exchange, key))?;
        let start = entry.target_start as usize;
        Some(&self.targets[start..start + entry.target_count as usize])
    }

    /// Keeps the queues of an exchange and a routing key that were not known, or does not.
    pub(super) fn offer(&mut self, exchange: ExchangeId, key: &[u8], targets: &[QueueId]) {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if self.random >> 61 == 0 {
            self.add(exchange, key, targets);
        }
    }

    fn add(&mut self, exchange: ExchangeId, key: &[u8], targets: &[QueueId]) {
        let Ok(key_size) = u8::try_from(key.len()) else { return };
        if targets.len() > TARGET_COUNT_MAX {
            return;
        }
        let is_full = self.entries.len() >= ROUTE_COUNT_MAX
            || self.targets.len() + targets.len() > TARGET_COUNT_MAX
            || self.keys.len() + key.len() > KEY_BYTES_MAX;
        if is_full {
            self.clear();
        }
        let hash = hash_of(&self.hasher, exchange, key);
        let entry = Entry {
            exchange,
            key_start: self.keys.len() as u32,
            target_start: self.targets.len() as u32,
            target_count: targets.len() as u32,
            key_size,
        };
        self.keys.extend_from_slice(key);
        self.targets.extend_from_slice(targets);
        let (keys, hasher) = (&self.keys, &self.hasher);
        self.entries.insert_unique(hash, entry, |entry| hash_of(hasher, entry.exchange, entry.key(keys)));
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.keys.clear();
        self.targets.clear();
    }

    fn is_of(&self, entry: &Entry, exchange: ExchangeId, key: &[u8]) -> bool {
        entry.exchange == exchange && entry.key(&self.keys) == key
    }
}

impl Entry {
    fn key<'a>(&self, keys: &'a [u8]) -> &'a [u8] {
        let start = self.key_start as usize;
        &keys[start..start + usize::from(self.key_size)]
    }
}

fn hash_of(hasher: &RandomState, exchange: ExchangeId, key: &[u8]) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write_u32(exchange.0);
    hasher.write(key);
    hasher.finish()
}
