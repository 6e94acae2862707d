//! `Client`: a sender of requests, its numbers, and its unread replies.

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

/// Ratio of numbers that clients may use to numbers that only workers report.
const OPEN_PER_TOLD: usize = 8;

#[derive(Debug)]
pub(super) struct Client {
    pub id: ClientId,
    /// Peer of the client, or `None` while it is disconnected.
    pub routing_id: Option<Box<[u8]>>,
    pub dialect: Dialect,
    /// User of the client.
    pub caller: Caller,
    /// Set if parts of replies may name their run.
    pub takes_runs: bool,
    /// Time of the disconnect, or `None` while the client is connected.
    pub gone_since: Option<Duration>,
    /// Entry in the queue of clients that may be forgotten.
    departure: Option<Departure>,
    window: Window,
    /// Set if only workers have reported this client so far.
    is_hearsay: bool,
    /// Unread replies in order. `backlog_bytes` is their size.
    backlog: VecDeque<Unread>,
    pub backlog_bytes: usize,
    /// Set if some replies did not fit there. The client has to ask again.
    pub has_missed_some: bool,
    /// Set if the client is in the list of clients to retry.
    pub is_stalled: bool,
    /// Requests that wait until the client reads.
    pub parked: RequestList,
    /// Bytes of the client's requests.
    pub open_bytes: usize,
    /// Set if the outbox was told to attend to the client's peer.
    is_attended: bool,
}

/// A reply, or a part of a reply, that waits for its client.
#[derive(Debug)]
pub(super) struct Unread {
    pub message: Message,
    /// The number that the reply answers, and the state of its slot afterwards.
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

    /// Moves the client to this peer, or to none. Returns its previous peer.
    pub fn move_to(&mut self, peer: Option<&[u8]>, out: &mut impl Outbox) -> Option<Box<[u8]>> {
        self.is_attended = false;
        let before = std::mem::replace(&mut self.routing_id, peer.map(Box::from));
        self.attend(out);
        before
    }

    /// Has the outbox attend to the client's peer while the client waits for a result. Called when a request arrives,
    /// and periodically.
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

    /// Returns whether a peer of that user may be this client. A client that only workers have reported accepts the
    /// first user that connects.
    pub fn may_be_of(&self, user: Option<&str>) -> bool {
        self.is_hearsay || self.caller.user().map(|known| &**known) == user
    }

    /// Returns the next number for a request of plain MDP, which has no numbers.
    pub fn next_number(&self) -> u64 {
        self.window.end()
    }

    /// Returns the first open number, as far as the broker knows.
    pub fn first(&self) -> u64 {
        self.window.first()
    }

    /// Returns the keys of the client's requests.
    pub fn open(&self) -> Vec<usize> {
        self.window.open().collect()
    }

    /// Returns the first unread reply.
    pub fn unread(&self) -> Option<&Unread> {
        self.backlog.front()
    }

    /// Returns whether the client has to receive something before any further message.
    pub fn has_unread(&self) -> bool {
        !self.backlog.is_empty() || self.has_missed_some
    }

    /// Returns whether removing the client loses no state.
    pub fn is_blank(&self) -> bool {
        self.window.is_blank() && self.backlog.is_empty()
    }
}

/// All clients, by index and by id.
#[derive(Debug, Default)]
pub(super) struct Clients {
    slab: Slab<Client>,
    by_id: HashMap<ClientId, usize>,
    /// Disconnected clients without open requests.
    departures: Departures,
    /// Clients that only workers have reported.
    hearsay_count: usize,
    /// Slots of all windows.
    counts: SlotCounts,
    /// Bytes of all backlogs.
    pub backlog_bytes: usize,
    /// Start of the next sweep over the clients.
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

    /// Returns whether parts of the client's replies may name their run.
    pub fn takes_runs(&self, index: usize) -> bool {
        self.get(index).is_some_and(|client| client.takes_runs)
    }

    /// Returns the next indexes to check, from the end of the last sweep on.
    pub fn look(&mut self) -> Vec<usize> {
        look(&self.slab, &mut self.cursor)
    }

    /// Adds a new client.
    pub fn insert(&mut self, id: ClientId, dialect: Dialect, first: u64) -> usize {
        let index = self.slab.insert(Client::new(id, dialect, first));
        self.by_id.insert(id, index);
        index
    }

    /// Returns the index of a client that a worker reports. A new client is added if there is room for it and its
    /// numbers.
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

    /// Returns the most slots that the client's window may have with the reports of workers.
    fn told_size_max(&self, index: usize, options: &Options) -> usize {
        let size = self.slab.get(index).map_or(0, |client| client.window.size());
        options.open_per_client_max.min(size + told_max(options).saturating_sub(self.counts.told))
    }

    /// Notes that a worker has these numbers of the client, as far as there is room. At most `count_max` numbers are
    /// processed.
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

    /// Makes a disconnected client available to be forgotten once it has no open request.
    pub fn note_departed(&mut self, index: usize) {
        if let Some(client) = self.slab.get_mut(index)
            && client.gone_since.is_some()
            && client.departure.is_none()
            && client.open_bytes == 0
        {
            client.departure = Some(self.departures.push(index));
        }
    }

    /// Ends the departure of a client that is back or about to be removed.
    pub fn end_departure(&mut self, index: usize) {
        let Some(client) = self.slab.get_mut(index) else { return };
        if client.departure.take().is_some() {
            let slab = &self.slab;
            self.departures.has_ended(|found| {
                slab.get(found.client).is_some_and(|client| client.departure == Some(found))
            });
        }
    }

    /// Returns the client with the longest absence among the clients without open requests and without unread replies.
    pub fn next_to_forget(&mut self) -> Option<usize> {
        while let Some(departure) = self.departures.pop_front() {
            let index = departure.client;
            if self.slab.get(index).is_some_and(|client| client.departure == Some(departure)) {
                self.end_departure(index);
                // The reply is sent when the client is back. The client then gets a new departure.
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

    /// Sets the first open number that the client itself reported. Returns the keys of the open requests below it.
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

    /// Returns whether there is room for a number that the client itself uses. The window has a limit of its slots, and
    /// all clients together have a limit of their own numbers.
    pub fn has_room(&self, index: usize, number: u64, window_max: usize, all_max: usize) -> bool {
        let Some(client) = self.slab.get(index) else { return false };
        let before = client.window.counts().own;
        let own = client.window.own_with(number);
        client.window.size_with(number).is_some_and(|size| {
            size <= window_max && (own == before || self.counts.own - before + own <= all_max)
        })
    }

    /// Sets the state of a number. The caller has checked that there is room.
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

    /// Adds an unread reply to the client.
    pub fn push_unread(&mut self, index: usize, unread: Unread) {
        let Some(client) = self.slab.get_mut(index) else { return };
        let size = size_of_frames(unread.message.as_frames());
        client.backlog_bytes += size;
        self.backlog_bytes += size;
        client.backlog.push_back(unread);
    }

    /// Removes the first unread reply, which was sent.
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

/// Returns the most slots of all windows that only the reports of workers may add. The default of `open_max` allows the
/// replies that four workers of Hairstreak remember.
pub(super) fn told_max(options: &Options) -> usize {
    options.open_max.div_ceil(OPEN_PER_TOLD)
}
