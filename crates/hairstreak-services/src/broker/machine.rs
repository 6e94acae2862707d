//! `Broker`: the state machine of the services, with the events that change it.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use hairstreak_base::Message;
use hairstreak_wire::hsn1::{ClientId, Header};
use hairstreak_wire::management::Drops;

use super::clients::Clients;
use super::early::EarlyReplies;
use super::management::LastReport;
use super::options::Options;
use super::permissions::Permissions;
use super::request_list::RequestList;
use super::requests::Requests;
use super::services::Services;
use super::workers::{Dialect, WorkerRef, Workers};
use crate::gate::Gate;
use crate::outbox::{Outbox, Sent};

/// Interval between two sweeps of the broker.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval between two attempts to send to a peer that had no room.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// State of the clients, the workers and the requests between them.
///
/// `now` is the time since the driver started counting. It never runs backwards. Messages go to the [`Outbox`] at once.
/// [`Broker::next_timeout`] returns the time of the next call that is due without an event.
#[derive(Debug)]
pub struct Broker {
    /// 128 random bits. They tell peers this broker from its predecessor.
    pub(super) id: [u8; 16],
    pub(super) options: Options,
    pub(super) permissions: Permissions,
    pub(super) peers: HashMap<Box<[u8]>, Role>,
    pub(super) clients: Clients,
    pub(super) services: Services,
    pub(super) workers: Workers,
    pub(super) requests: Requests,
    /// Requests that wait for a worker that has them, in the order of arrival.
    pub(super) holding: RequestList,
    pub(super) early: EarlyReplies,
    /// Clients with unread replies.
    pub(super) stalled: VecDeque<usize>,
    /// Workers that had no room for a request.
    pub(super) full_workers: VecDeque<WorkerRef>,
    pub(super) expelled: VecDeque<Expulsion>,
    /// Clients of plain MDP so far.
    pub(super) plain_client_count: u64,
    pub(super) batch: Batch,
    pub(super) next_look: Duration,
    pub(super) next_retry: Duration,
    /// Time of the last event.
    pub(super) now: Duration,
    pub(super) drops: Drops,
    pub(super) last_reports: Vec<LastReport>,
}

/// Several events that are handled as one.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub is_open: bool,
    /// Services with waiting requests, or with workers that have room, since the batch began.
    pub noted: Vec<usize>,
}

/// Delayed dismissal of a peer. Some peers would come back at once after an immediate one.
#[derive(Debug)]
pub(super) struct Expulsion {
    pub when: Duration,
    pub peer: Box<[u8]>,
    pub dialect: Dialect,
    pub reason: &'static str,
}

/// Role of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The peer is connected and has not yet sent a valid command.
    New,
    Client(usize),
    Worker(WorkerRef),
    /// The peer is told to go at that time.
    Expelled {
        when: Duration,
    },
}

impl Broker {
    /// Returns a broker without peers. Users may do everything that the gate allows. `id` is 128 random bits.
    pub fn new(id: [u8; 16], options: Options, gate: Box<dyn Gate>) -> Broker {
        Broker {
            id,
            options,
            permissions: Permissions::new(gate),
            peers: HashMap::new(),
            clients: Clients::default(),
            services: Services::default(),
            workers: Workers::default(),
            // Other brokers use other run numbers.
            requests: Requests::new(foldhash::fast::FixedState::default().hash_one(id)),
            holding: RequestList::default(),
            early: EarlyReplies::default(),
            stalled: VecDeque::new(),
            full_workers: VecDeque::new(),
            expelled: VecDeque::new(),
            plain_client_count: 0,
            batch: Batch::default(),
            next_look: Duration::ZERO,
            next_retry: Duration::ZERO,
            now: Duration::ZERO,
            drops: Drops::default(),
            last_reports: Vec::new(),
        }
    }

    /// Handles a new peer. `uses_hsn1`: the peer announced HSN1. An earlier peer with the same routing id is gone.
    pub fn handle_peer(&mut self, routing_id: &[u8], uses_hsn1: bool, out: &mut impl Outbox) {
        if let Some(role) = self.peers.insert(routing_id.into(), Role::New) {
            self.end(self.now, role, out);
        }
        if uses_hsn1 {
            let header =
                Header::Welcome { broker: self.id, heartbeat_ms: self.options.heartbeat_ms }.encode();
            // A peer that has disconnected again is reported by its own notice.
            let _: Sent = out.send(routing_id, &[header.as_ref()], &[]);
        }
    }

    /// Handles the end of a peer's connection. All its messages were handled before.
    pub fn handle_gone(&mut self, now: Duration, routing_id: &[u8], out: &mut impl Outbox) {
        self.now = now;
        if let Some(role) = self.peers.remove(routing_id) {
            self.end(now, role, out);
        }
    }

    /// Begins a batch of events. Requests go to workers when [`Broker::end_batch`] is called, so that each worker gets
    /// several at a time.
    pub fn begin_batch(&mut self) {
        self.batch.is_open = true;
    }

    /// Handles a message. Its first frame is the routing id.
    pub fn handle_message(&mut self, now: Duration, message: Message, out: &mut impl Outbox) {
        self.now = now;
        let peer = message.as_frames()[0].clone();
        let peer = peer.as_bytes();
        if matches!(self.role(peer), Role::Expelled { .. }) {
            self.drops.malformed += 1;
        } else if message.frame(1).is_some_and(Header::is_one) {
            self.take_hsn1(now, peer, message, out);
        } else {
            self.take_plain(now, peer, message, out);
        }
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, now: Duration, out: &mut impl Outbox) {
        self.now = now;
        self.release_held(now, out);
        if now >= self.next_retry {
            self.next_retry = now + RETRY_INTERVAL;
            self.retry(now, out);
        }
        if now >= self.next_look {
            self.next_look = now + LOOK_INTERVAL;
            self.look_round(now, out);
        }
    }

    /// Returns the time at which [`Broker::handle_timeout`] is due without an event. `None`: never.
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let retries = !self.stalled.is_empty() || !self.full_workers.is_empty();
        let is_idle = self.clients.len() == 0
            && self.workers.len() == 0
            && self.services.is_empty()
            && self.early.is_empty()
            && self.expelled.is_empty()
            && self.next_held().is_none()
            && !retries;
        if is_idle {
            return None;
        }
        let retry = if retries { self.next_retry } else { Duration::MAX };
        let held = self.next_held().unwrap_or(Duration::MAX);
        Some(self.next_look.min(retry).min(held).max(now))
    }

    /// Returns the number of requests.
    pub fn request_count(&self) -> usize {
        self.requests.len()
    }

    /// Returns an id for a client that has none.
    pub(super) fn plain_client_id(&mut self) -> ClientId {
        self.plain_client_count += 1;
        let mut id = self.id;
        id[8..].copy_from_slice(&self.plain_client_count.to_be_bytes());
        ClientId(id)
    }
}
