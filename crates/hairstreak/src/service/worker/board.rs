//! `Board`: which requests run, who wants their replies, and what has been replied.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hairstreak_socket::Message;
use hairstreak_wire::numbered::{ClientId, Held, RequestId, encode_held};

use super::store::{ReplyStore, StoredReply, ranges};

/// Clients whose first open number is remembered; of more, all are forgotten.
const FIRSTS_COUNT_MAX: usize = 65_536;

/// What is to be done with a request that came.
pub(super) enum Begin {
    /// It is new here.
    Run,
    /// It runs: whoever asked last gets the reply.
    Runs,
    /// It has been replied to.
    Replied(StoredReply),
    /// Its client has had the reply: it comes from a broker that did not know.
    Over,
}

pub(super) struct Board {
    running: HashMap<RequestId, Running>,
    store: Box<dyn ReplyStore>,
    /// The highest first open number of each client.
    firsts: HashMap<ClientId, u64>,
    /// What it has is not what it had when brokers were told last.
    has_changed: bool,
}

struct Running {
    /// The broker that asked last.
    link: usize,
    /// Parts that have been sent.
    parts: Vec<Message>,
    is_cancelled: bool,
}

impl Board {
    pub fn new(store: Box<dyn ReplyStore>) -> Board {
        Board { running: HashMap::new(), store, firsts: HashMap::new(), has_changed: false }
    }

    /// A broker gives a request, of a client whose first open number is this.
    pub fn begin(&mut self, request: RequestId, first: u64, link: usize) -> Begin {
        if self.firsts.len() >= FIRSTS_COUNT_MAX && !self.firsts.contains_key(&request.client) {
            self.firsts.clear();
        }
        let known = self.firsts.entry(request.client).or_default();
        if first > *known {
            *known = first;
            self.store.forget_below(request.client, first);
        }
        if request.number < *known {
            return Begin::Over;
        }
        if let Some(running) = self.running.get_mut(&request) {
            (running.link, running.is_cancelled) = (link, false);
            return Begin::Runs;
        }
        if let Some(reply) = self.store.find(request) {
            return Begin::Replied(reply);
        }
        self.running.insert(request, Running { link, parts: Vec::new(), is_cancelled: false });
        self.has_changed = true;
        Begin::Run
    }

    /// A part is about to be sent. Returns its index and to which broker.
    pub fn add_part(&mut self, request: RequestId, part: &Message) -> Option<(u32, usize)> {
        let running = self.running.get_mut(&request)?;
        running.parts.push(part.clone());
        Some((running.parts.len() as u32 - 1, running.link))
    }

    /// The request is done. Returns the index of the last part, and to which broker it goes.
    pub fn end(&mut self, request: RequestId, result: &Result<Message, String>) -> Option<(u32, usize)> {
        let Running { link, mut parts, .. } = self.running.remove(&request)?;
        let index = parts.len() as u32;
        let failure = match result {
            Ok(last) => {
                parts.push(last.clone());
                None
            }
            Err(text) => Some(text.clone()),
        };
        self.store.insert(request, StoredReply { parts, failure });
        Some((index, link))
    }

    pub fn cancel(&mut self, request: RequestId) {
        if let Some(running) = self.running.get_mut(&request) {
            running.is_cancelled = true;
        }
    }

    pub fn is_cancelled(&self, request: RequestId) -> bool {
        self.running.get(&request).is_some_and(|running| running.is_cancelled)
    }

    /// Whether it has something new since this was asked.
    pub fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// All that it has, as a list for a broker.
    pub fn held(&mut self) -> Vec<u8> {
        let mut running: BTreeMap<ClientId, BTreeSet<u64>> = BTreeMap::new();
        for request in self.running.keys() {
            running.entry(request.client).or_default().insert(request.number);
        }
        let running = running.into_iter().flat_map(|(client, numbers)| ranges(client, numbers));
        let held: Vec<Held> = running.chain(self.store.held()).collect();
        encode_held(held)
    }
}
