//! `ReplyStore`: the storage of a worker's replies, for clients that ask again.
//!
//! Replies in memory are lost with the worker. If it dies between the effect of a request and the reply, the request is
//! done again and is marked as repeated. A store that commits the number with the effect (a row of the same
//! transaction) makes effects happen exactly once: after a restart [`ReplyStore::find`] returns the reply.

use std::collections::VecDeque;

use foldhash::HashMap;
use hairstreak_socket::Message;
use hairstreak_wire::hsn1::{ClientId, Held, RequestId};

/// Most replies in memory.
const STORED_COUNT_MAX: usize = 262_144;
/// Most bytes of these replies.
const STORED_BYTES_MAX: usize = 64 << 20;

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReply {
    /// The parts, in order; the last one ends the reply.
    pub parts: Vec<Message>,
    /// The reason that there is no reply. `None`: there is one.
    pub failure: Option<String>,
}

impl StoredReply {
    fn size(&self) -> usize {
        self.parts.iter().map(Message::size).sum::<usize>() + self.failure.as_ref().map_or(0, String::len)
    }
}

/// Storage of replies. Called by one thread at a time in the middle of its work, so it should be fast.
pub trait ReplyStore: Send {
    /// Returns the reply to the request, if it is stored.
    fn find(&mut self, request: RequestId) -> Option<StoredReply>;

    /// Stores a reply before it is sent.
    fn insert(&mut self, request: RequestId, reply: StoredReply);

    /// Notes that the client has all its replies below this number. The store may drop them.
    fn forget_below(&mut self, client: ClientId, first: u64);

    /// Returns the requests whose replies are stored.
    fn held(&mut self) -> Vec<Held>;
}

/// Store in memory, for up to 262,144 replies and 64 MiB. Above a limit, the oldest replies are dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    clients: HashMap<ClientId, Replies>,
    /// Requests in the order of arrival. Some of the replies are gone.
    order: VecDeque<RequestId>,
    count: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Replies {
    first: u64,
    /// Replies by number, ascending.
    by_number: VecDeque<(u64, StoredReply)>,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn remove(&mut self, request: RequestId) {
        let Some(replies) = self.clients.get_mut(&request.client) else { return };
        let place = place_of(&replies.by_number, request.number);
        if let Some((_, reply)) = place.ok().and_then(|place| replies.by_number.remove(place)) {
            self.count -= 1;
            self.bytes -= reply.size();
        }
        if replies.by_number.is_empty() {
            self.clients.remove(&request.client);
        }
    }
}

impl ReplyStore for MemoryStore {
    fn find(&mut self, request: RequestId) -> Option<StoredReply> {
        let by_number = &self.clients.get(&request.client)?.by_number;
        Some(by_number[place_of(by_number, request.number).ok()?].1.clone())
    }

    fn insert(&mut self, request: RequestId, mut reply: StoredReply) {
        reply.parts.iter_mut().for_each(Message::compact);
        self.count += 1;
        self.bytes += reply.size();
        let by_number = &mut self.clients.entry(request.client).or_default().by_number;
        match place_of(by_number, request.number) {
            Ok(place) => {
                let (_, before) = std::mem::replace(&mut by_number[place], (request.number, reply));
                self.count -= 1;
                self.bytes -= before.size();
            }
            Err(place) => {
                by_number.insert(place, (request.number, reply));
                self.order.push_back(request);
            }
        }
        while self.count > STORED_COUNT_MAX || self.bytes > STORED_BYTES_MAX && self.count > 1 {
            let Some(oldest) = self.order.pop_front() else { return };
            self.remove(oldest);
        }
        if self.order.len() > 2 * self.count + 64 {
            let clients = &self.clients;
            self.order.retain(|request| {
                clients
                    .get(&request.client)
                    .is_some_and(|replies| place_of(&replies.by_number, request.number).is_ok())
            });
        }
    }

    fn forget_below(&mut self, client: ClientId, first: u64) {
        let Some(replies) = self.clients.get_mut(&client) else { return };
        if first <= replies.first {
            return;
        }
        replies.first = first;
        while let Some((_, reply)) = replies.by_number.pop_front_if(|(number, _)| *number < first) {
            self.count -= 1;
            self.bytes -= reply.size();
        }
        if replies.by_number.is_empty() {
            self.clients.remove(&client);
        }
    }

    fn held(&mut self) -> Vec<Held> {
        let numbers =
            |replies: &Replies| replies.by_number.iter().map(|(number, _)| *number).collect::<Vec<u64>>();
        self.clients.iter().flat_map(|(client, replies)| ranges(*client, numbers(replies))).collect()
    }
}

/// Returns the position of the number in an ascending queue, or its insertion position, which is usually the end.
pub(super) fn place_of<T>(by_number: &VecDeque<(u64, T)>, number: u64) -> Result<usize, usize> {
    match by_number.back() {
        Some((last, _)) if *last >= number => by_number.binary_search_by_key(&number, |(number, _)| *number),
        _ => Err(by_number.len()),
    }
}

/// Returns ascending numbers of a client as ranges.
pub(super) fn ranges(client: ClientId, numbers: impl IntoIterator<Item = u64>) -> Vec<Held> {
    let mut ranges: Vec<Held> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(range) if range.last + 1 == number => range.last = number,
            _ => ranges.push(Held { client, first: number, last: number }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(client: u8, number: u64) -> RequestId {
        RequestId { client: ClientId([client; 16]), number }
    }

    fn reply(text: &str) -> StoredReply {
        StoredReply { parts: vec![text.into()], failure: None }
    }

    #[test]
    fn replies_are_kept_until_their_client_has_them() {
        let mut store = MemoryStore::new();
        for number in [1, 2, 4] {
            store.insert(id(7, number), reply(&number.to_string()));
        }
        store.insert(id(8, 1), reply("other"));
        let mut held = store.held();
        held.sort_by_key(|range| (range.client, range.first));
        let range = |client, first, last| Held { client: ClientId([client; 16]), first, last };
        assert_eq!(held, [range(7, 1, 2), range(7, 4, 4), range(8, 1, 1)]);
        store.forget_below(ClientId([7; 16]), 4);
        assert_eq!((store.find(id(7, 2)), store.find(id(7, 4))), (None, Some(reply("4"))));
        store.forget_below(ClientId([7; 16]), 5);
        assert_eq!((store.count, store.clients.len()), (1, 1));
    }

    #[test]
    fn of_more_bytes_than_it_keeps_the_oldest_go() {
        let mut store = MemoryStore::new();
        let large = "x".repeat(STORED_BYTES_MAX / 4);
        (1..=5).for_each(|number| store.insert(id(1, number), reply(&large)));
        assert_eq!((store.find(id(1, 1)), store.count), (None, 4));
        assert!(store.find(id(1, 2)).is_some());
        store.insert(id(1, 6), reply(&"x".repeat(2 * STORED_BYTES_MAX)));
        assert_eq!((store.count, store.find(id(1, 6)).is_some()), (1, true), "one may pass the limit");
    }

    #[test]
    fn the_order_of_what_is_long_gone_is_forgotten() {
        let mut store = MemoryStore::new();
        for number in 1..1000 {
            store.insert(id(1, number), reply("x"));
            store.forget_below(ClientId([1; 16]), number);
        }
        assert!(store.order.len() <= 70, "{}", store.order.len());
    }
}
