//! `Client`: who asks, its numbers, and the replies that it has not read.

use std::collections::VecDeque;
use std::time::Duration;

use foldhash::HashMap;
use hairstreak_base::Message;
use hairstreak_wire::hsn1::{ClientId, Held};
use slab::Slab;

use super::caller::Caller;
use super::departures::{Departure, Departures};
use super::options::Options;
use super::request_list::RequestList;
use super::requests::{look, size_of_frames};
use super::window::{Slot, SlotCounts, Told, Window};
use super::workers::{Dialect, WorkerRef};
use crate::outbox::Outbox;

/// Workers may tell of one number that no client here has used for so many that the clients may use.
const OPEN_PER_TOLD: usize = 8;

#[derive(Debug)]
pub(super) struct Client {
    pub id: ClientId,
    /// Where it is now, if it is.
    pub routing_id: Option<Box<[u8]>>,
    pub dialect: Dialect,
    /// Whose it is.
    pub caller: Caller,
    /// Parts of its replies may name their run.
    pub takes_runs: bool,
    /// Since when it is gone.
    pub gone_since: Option<Duration>,
    /// Its place among those that make room, if it is there.
    departure: Option<Departure>,
    window: Window,
    /// Workers have told of it, it has not come itself.
    is_hearsay: bool,
    /// Replies that it had no room for, in order, and their bytes.
    backlog: VecDeque<Unread>,
    pub backlog_bytes: usize,
    /// Some did not even fit there: it has to ask again.
    pub has_missed_some: bool,
    /// It is among those that are tried again.
    pub is_stalled: bool,
    /// Requests that wait until it reads.
    pub parked: RequestList,
    /// Bytes of its requests.
    pub open_bytes: usize,
    /// The outbox was told to attend to the client's peer.
    is_attended: bool,
}

/// A reply, or a part of one, that waits for its client.
#[derive(Debug)]
pub(super) struct Unread {
    pub message: Message,
    /// The number that is answered by it, and what is known of that then.
    pub answers: Option<(u64, Slot)>,
}

impl Client {
    fn new(id: ClientId, dialect: Dialect, first: u64) -> Client {
        Client {
            id,
            routing_id: None,
            dialect,
            caller: Caller::default(),
            takes_runs: false,
            gone_since: None,
            departure: None,
            window: Window::new(first),
            is_hearsay: false,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            has_missed_some: false,
            is_stalled: false,
            open_bytes: 0,
            parked: RequestList::default(),
            is_attended: false,
        }
    }

    /// The client is at this peer from now on, or at none. Returns where the client was before.
    pub fn move_to(&mut self, peer: Option<&[u8]>, out: &mut impl Outbox) -> Option<Box<[u8]>> {
        self.is_attended = false;
        let before = std::mem::replace(&mut self.routing_id, peer.map(Box::from));
        self.attend(out);
        before
    }

    /// Has the outbox attend to the client's peer as long as the client waits for something. To be called when a request comes,
    /// and now and then.
    pub fn attend(&mut self, out: &mut impl Outbox) {
        let waits = self.open_bytes > 0 || self.backlog_bytes > 0;
        if let Some(peer) = self.routing_id.as_deref().filter(|_| self.is_attended != waits) {
            self.is_attended = waits;
            out.attend(peer, waits);
        }
    }

    pub fn slot(&self, number: u64) -> Slot {
        self.window.get(number)
    }

    pub fn uses_hsn1(&self) -> bool {
        self.dialect == Dialect::Hsn1
    }

    /// Whether a peer of that user may be this client. One that only workers have told of is whoever's comes first.
    pub fn may_be_of(&self, user: Option<&str>) -> bool {
        self.is_hearsay || self.caller.user().map(|known| &**known) == user
    }

    /// A number for a request of plain MDP, which has none.
    pub fn next_number(&self) -> u64 {
        self.window.end()
    }

    /// The first number that is open, as far as the broker knows.
    pub fn first(&self) -> u64 {
        self.window.first()
    }

    /// The keys of its requests.
    pub fn open(&self) -> Vec<usize> {
        self.window.open().collect()
    }

    /// The first of the replies that wait for it.
    pub fn unread(&self) -> Option<&Unread> {
        self.backlog.front()
    }

    /// Whether there is something it has to be told before anything else.
    pub fn has_unread(&self) -> bool {
        !self.backlog.is_empty() || self.has_missed_some
    }

    /// Whether nothing would be lost with it.
    pub fn is_blank(&self) -> bool {
        self.window.is_blank() && self.backlog.is_empty()
    }
}

/// All clients, by place and by id.
#[derive(Debug, Default)]
pub(super) struct Clients {
    slab: Slab<Client>,
    by_id: HashMap<ClientId, usize>,
    /// Those that are gone and have nothing open.
    departures: Departures,
    /// How many workers have told of and have not come themselves.
    hearsay_count: usize,
    /// Slots of all windows.
    counts: SlotCounts,
    /// Bytes of all backlogs.
    pub backlog_bytes: usize,
    /// Where the next look at those that are gone begins.
    cursor: usize,
}

impl Clients {
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    pub fn get(&self, index: usize) -> Option<&Client> {
        self.slab.get(index)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut Client> {
        self.slab.get_mut(index)
    }

    pub fn find(&self, id: ClientId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Whether parts of its replies may name their run.
    pub fn takes_runs(&self, index: usize) -> bool {
        self.get(index).is_some_and(|client| client.takes_runs)
    }

    /// The places of the next ones, from where the last look ended.
    pub fn look(&mut self) -> Vec<usize> {
        look(&self.slab, &mut self.cursor)
    }

    /// A client that is new here.
    pub fn insert(&mut self, id: ClientId, dialect: Dialect, first: u64) -> usize {
        let index = self.slab.insert(Client::new(id, dialect, first));
        self.by_id.insert(id, index);
        index
    }

    /// One that a worker tells of, if there is room for it and its numbers.
    pub fn hear_of(&mut self, now: Duration, id: ClientId, first: u64, options: &Options) -> Option<usize> {
        let has_room = self.len() < options.clients_max
            && self.hearsay_count < options.clients_max.div_ceil(2)
            && self.counts.told < told_max(options);
        match self.find(id) {
            Some(index) if self.slab[index].is_hearsay => {
                let size_max = self.told_size_max(index, options);
                if self.slab[index].window.size_from(first) <= size_max {
                    self.change_window(index, |client| client.window.begin_at(first, size_max));
                }
                Some(index)
            }
            Some(index) => Some(index).filter(|index| self.slab[*index].uses_hsn1()),
            None if has_room => {
                let index = self.insert(id, Dialect::Hsn1, first);
                let client = &mut self.slab[index];
                (client.is_hearsay, client.gone_since) = (true, Some(now));
                self.hearsay_count += 1;
                self.note_departed(index);
                Some(index)
            }
            None => None,
        }
    }

    /// How many slots a client's window may have by what workers tell.
    fn told_size_max(&self, index: usize, options: &Options) -> usize {
        let size = self.slab.get(index).map_or(0, |client| client.window.size());
        options.open_per_client_max.min(size + told_max(options).saturating_sub(self.counts.told))
    }

    /// A worker has these of that client, as far as there is room for it; so many numbers are looked at.
    pub fn tell(
        &mut self,
        index: usize,
        range: Held,
        count_max: u64,
        worker: WorkerRef,
        options: &Options,
    ) -> Told {
        let size_max = self.told_size_max(index, options);
        let mut told = Told::default();
        self.change_window(index, |client| {
            let first = range.first.max(client.window.first());
            let last = range.last.min(first.saturating_add(count_max - 1));
            told = client.window.tell(first, last, worker, size_max);
        });
        told
    }

    /// A client that is gone makes room for others once it has nothing open.
    pub fn note_departed(&mut self, index: usize) {
        if let Some(client) = self.slab.get_mut(index)
            && client.gone_since.is_some()
            && client.departure.is_none()
            && client.open_bytes == 0
        {
            client.departure = Some(self.departures.push(index));
        }
    }

    /// A client is back, or about to be forgotten.
    pub fn end_departure(&mut self, index: usize) {
        let Some(client) = self.slab.get_mut(index) else { return };
        if client.departure.take().is_some() {
            let slab = &self.slab;
            self.departures.has_ended(|found| {
                slab.get(found.client).is_some_and(|client| client.departure == Some(found))
            });
        }
    }

    /// The client that has been gone the longest, and has nothing open nor a reply that waits for it.
    pub fn next_to_forget(&mut self) -> Option<usize> {
        while let Some(departure) = self.departures.pop_front() {
            let index = departure.client;
            if self.slab.get(index).is_some_and(|client| client.departure == Some(departure)) {
                self.end_departure(index);
                // A reply goes when its client is back, which is another departure then.
                if self.slab[index].backlog.is_empty() {
                    return Some(index);
                }
            }
        }
        None
    }

    pub fn remove(&mut self, index: usize) -> Option<Client> {
        self.end_departure(index);
        let client = self.slab.try_remove(index)?;
        self.by_id.remove(&client.id);
        self.hearsay_count -= usize::from(client.is_hearsay);
        let counts = client.window.counts();
        self.counts.own -= counts.own;
        self.counts.told -= counts.told;
        self.backlog_bytes -= client.backlog_bytes;
        Some(client)
    }

    /// The client's first open number is this by its own account. Returns the keys of what was open below.
    pub fn advance(&mut self, index: usize, first: u64, options: &Options) -> Vec<usize> {
        let mut ended = Vec::new();
        let size_max = self.told_size_max(index, options);
        let mut was_hearsay = false;
        self.change_window(index, |client| {
            was_hearsay = std::mem::take(&mut client.is_hearsay);
            if was_hearsay {
                client.window.begin_at(first, size_max);
            }
            client.window.advance(first, |key| ended.push(key));
        });
        self.hearsay_count -= usize::from(was_hearsay);
        ended
    }

    /// Whether there is a place for a number that its client uses: the window may have so many slots, and all clients so many of
    /// their own.
    pub fn has_room(&self, index: usize, number: u64, window_max: usize, all_max: usize) -> bool {
        let Some(client) = self.slab.get(index) else { return false };
        let before = client.window.counts().own;
        let own = client.window.own_with(number);
        client.window.size_with(number).is_some_and(|size| {
            size <= window_max && (own == before || self.counts.own - before + own <= all_max)
        })
    }

    /// There is room.
    pub fn set(&mut self, index: usize, number: u64, slot: Slot) {
        self.change_window(index, |client| {
            client.window.set(number, slot);
            if !client.uses_hsn1() {
                client.window.advance_to_known();
            }
        });
    }

    fn change_window(&mut self, index: usize, change: impl FnOnce(&mut Client)) {
        let Some(client) = self.slab.get_mut(index) else { return };
        let before = client.window.counts();
        change(client);
        let counts = client.window.counts();
        self.counts.own = self.counts.own - before.own + counts.own;
        self.counts.told = self.counts.told - before.told + counts.told;
    }

    /// A reply waits for the client.
    pub fn push_unread(&mut self, index: usize, unread: Unread) {
        let Some(client) = self.slab.get_mut(index) else { return };
        let size = size_of_frames(unread.message.as_frames());
        client.backlog_bytes += size;
        self.backlog_bytes += size;
        client.backlog.push_back(unread);
    }

    /// The first of the replies that wait has been sent.
    pub fn pop_unread(&mut self, index: usize) {
        let Some(client) = self.slab.get_mut(index) else { return };
        let Some(unread) = client.backlog.pop_front() else { return };
        let size = size_of_frames(unread.message.as_frames());
        client.backlog_bytes -= size;
        self.backlog_bytes -= size;
        if let Some((number, slot)) = unread.answers
            && client.slot(number) == Slot::Unread
        {
            self.set(index, number, slot);
        }
    }

    #[cfg(test)]
    pub fn departures_len(&self) -> usize {
        self.departures.len()
    }

    #[cfg(test)]
    pub fn counts(&self) -> SlotCounts {
        self.counts
    }
}

/// How many slots all windows may have by what workers tell, besides those of the clients' own: as many as four workers of ours
/// remember replies, unless `open_max` is set.
pub(super) fn told_max(options: &Options) -> usize {
    options.open_max.div_ceil(OPEN_PER_TOLD)
}
