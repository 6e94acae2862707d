//! `Board`: the running requests, the brokers that want their replies, and the stored replies.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use foldhash::{HashMap, HashMapExt};
use hairstreak_socket::Message;
use hairstreak_wire::hsn1::{ClientId, Held, RequestId, encode_held};

use super::store::{ReplyStore, StoredReply, place_of, ranges};

/// Most clients whose first open number is remembered. Above the limit, clients without running requests are forgotten.
const CLIENTS_COUNT_MAX: usize = 65_536;
/// Most last replies, which a leaving worker repeats to a broker that was away. A broker keeps as many early replies.
const LAST_COUNT_MAX: usize = 1024;

/// Most bytes of the parts of one reply that are kept for a repeat. A longer reply is not kept, and a repeated request
/// is done again.
const PARTS_BYTES_MAX: usize = 16 << 20;

/// Action for an arriving request.
pub(super) enum Begin {
    /// The request is new here.
    Run,
    /// The request is running. The last broker to ask gets the reply.
    Runs,
    /// The request was replied to. Holds the reply, and the run of its repeat.
    Replied(StoredReply, u64),
    /// The client has had the reply. The broker did not know this.
    Over,
}

/// Destination of a part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartTo {
    /// Link of the broker.
    pub link: usize,
    /// Run of the reply.
    pub run: u64,
    /// Place among the parts.
    pub index: u32,
}

pub(super) struct Board {
    clients: HashMap<ClientId, Client>,
    store: Box<dyn ReplyStore>,
    /// Requests of the last replies. `ended_count` is the number of all replies.
    last: VecDeque<RequestId>,
    ended_count: u64,
    /// Set if the board has new requests since the last report to brokers.
    has_changed: bool,
    next_run: u64,
}

#[derive(Default)]
struct Client {
    /// Highest first open number that the client has sent.
    first: u64,
    /// Running requests by number, ascending.
    running: VecDeque<(u64, Running)>,
}

struct Running {
    /// Link of the last broker that sent the request.
    link: usize,
    /// Run of its parts.
    run: u64,
    /// Sent parts, if they are kept. `part_count` is their number and `part_bytes` their size.
    parts: Vec<Message>,
    part_count: u32,
    part_bytes: usize,
    is_cancelled: bool,
    /// Set once the request was cancelled: a later failure may be a consequence.
    was_cancelled: bool,
}

impl Board {
    pub fn new(store: Box<dyn ReplyStore>) -> Board {
        Board {
            clients: HashMap::new(),
            store,
            last: VecDeque::new(),
            ended_count: 0,
            has_changed: false,
            // The first run is random, so that other workers use other runs.
            next_run: RandomState::new().hash_one(0),
        }
    }

    /// Returns a new run, unique to the reply that is sent next.
    pub fn next_run(&mut self) -> u64 {
        self.next_run = self.next_run.wrapping_add(1);
        self.next_run
    }

    /// Begins a request of a broker. `first` is the first open number of its client.
    pub fn begin(&mut self, request: RequestId, first: u64, link: usize) -> Begin {
        let run = self.next_run();
        if self.clients.len() >= CLIENTS_COUNT_MAX && !self.clients.contains_key(&request.client) {
            self.clients.retain(|_, client| !client.running.is_empty());
        }
        let client = self.clients.entry(request.client).or_default();
        if first > client.first {
            client.first = first;
            self.store.forget_below(request.client, first);
        }
        if request.number < client.first {
            return Begin::Over;
        }
        match place_of(&client.running, request.number) {
            Ok(place) => {
                let running = &mut client.running[place].1;
                (running.link, running.is_cancelled) = (link, false);
                Begin::Runs
            }
            Err(place) => {
                if let Some(reply) = self.store.find(request) {
                    return Begin::Replied(reply, run);
                }
                let running = Running {
                    link,
                    run,
                    parts: Vec::new(),
                    part_count: 0,
                    part_bytes: 0,
                    is_cancelled: false,
                    was_cancelled: false,
                };
                client.running.insert(place, (request.number, running));
                self.has_changed = true;
                Begin::Run
            }
        }
    }

    /// Notes a part before it is sent. Returns its destination.
    pub fn add_part(&mut self, request: RequestId, part: &Message) -> Option<PartTo> {
        let running = self.running(request)?;
        running.part_bytes += part.size();
        if running.part_bytes <= PARTS_BYTES_MAX {
            running.parts.push(part.clone());
        } else {
            running.parts = Vec::new();
        }
        running.part_count += 1;
        Some(PartTo { link: running.link, run: running.run, index: running.part_count - 1 })
    }

    /// Ends a request. Returns the destination of the last part.
    pub fn end(&mut self, request: RequestId, result: &Result<Message, String>) -> Option<PartTo> {
        let client = self.clients.get_mut(&request.client)?;
        let place = place_of(&client.running, request.number).ok()?;
        let (_, running) = client.running.remove(place)?;
        let Running { link, run, mut parts, part_count: index, part_bytes, was_cancelled, .. } = running;
        let place = PartTo { link, run, index };
        if part_bytes > PARTS_BYTES_MAX || was_cancelled && result.is_err() {
            return Some(place);
        }
        let failure = match result {
            Ok(last) => {
                parts.push(last.clone());
                None
            }
            Err(text) => Some(text.clone()),
        };
        self.store.insert(request, StoredReply { parts, failure });
        if self.last.len() == LAST_COUNT_MAX {
            self.last.pop_front();
        }
        self.last.push_back(request);
        self.ended_count += 1;
        Some(place)
    }

    pub fn cancel(&mut self, request: RequestId) {
        if let Some(running) = self.running(request) {
            (running.is_cancelled, running.was_cancelled) = (true, true);
        }
    }

    pub fn is_cancelled(&mut self, request: RequestId) -> bool {
        self.running(request).is_some_and(|running| running.is_cancelled)
    }

    /// Returns whether the broker has cancelled the request. The broker also cancels a request that it takes back.
    pub fn was_cancelled(&mut self, request: RequestId) -> bool {
        self.running(request).is_some_and(|running| running.was_cancelled)
    }

    fn running(&mut self, request: RequestId) -> Option<&mut Running> {
        let client = self.clients.get_mut(&request.client)?;
        let place = place_of(&client.running, request.number).ok()?;
        Some(&mut client.running[place].1)
    }

    /// Returns whether the board has new requests since the last call.
    pub fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Returns the number of ended requests.
    pub fn ended_count(&self) -> u64 {
        self.ended_count
    }

    /// Returns the last replies among the first `ended_count` ones, as far as their clients have not confirmed them.
    pub fn replies_until(&mut self, ended_count: u64) -> Vec<(RequestId, StoredReply)> {
        let later = self.ended_count.saturating_sub(ended_count);
        let count = self.last.len().saturating_sub(usize::try_from(later).unwrap_or(usize::MAX));
        let store = &mut self.store;
        self.last.iter().take(count).filter_map(|request| Some((*request, store.find(*request)?))).collect()
    }

    /// Returns all requests of the board, encoded as a list for a broker.
    pub fn held(&mut self) -> Vec<u8> {
        let numbers =
            |client: &Client| client.running.iter().map(|(number, _)| *number).collect::<Vec<u64>>();
        let running = self.clients.iter().flat_map(|(id, client)| ranges(*id, numbers(client)));
        let held: Vec<Held> = running.chain(self.store.held()).collect();
        encode_held(held)
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::MemoryStore;
    use super::*;

    const REQUEST: RequestId = RequestId { client: ClientId([1; 16]), number: 1 };

    fn board() -> Board {
        let mut board = Board::new(Box::new(MemoryStore::new()));
        assert!(matches!(board.begin(REQUEST, 1, 0), Begin::Run));
        board
    }

    #[test]
    fn a_failure_is_kept_unless_the_request_was_cancelled() {
        for (is_cancelled, is_kept) in [(false, true), (true, false)] {
            let mut board = board();
            if is_cancelled {
                board.cancel(REQUEST);
                // The request is wanted after all.
                assert!(matches!(board.begin(REQUEST, 1, 0), Begin::Runs));
            }
            assert_eq!(board.end(REQUEST, &Err("ended".into())).map(|place| place.index), Some(0));
            assert_eq!(matches!(board.begin(REQUEST, 1, 0), Begin::Replied(..)), is_kept);
        }
    }

    #[test]
    fn parts_beyond_what_is_kept_are_counted_and_the_reply_is_not_kept() {
        let mut board = board();
        let part = Message::from(vec![0; PARTS_BYTES_MAX / 2 + 1]);
        let parts = [(); 3].map(|()| board.add_part(REQUEST, &part).unwrap());
        let last = board.end(REQUEST, &Ok(Message::new())).unwrap();
        assert_eq!(parts.map(|part| part.index), [0, 1, 2]);
        assert_eq!(last.index, 3);
        assert!(parts.iter().all(|part| part.run == last.run));
        assert!(matches!(board.begin(REQUEST, 1, 0), Begin::Run));
    }
}
