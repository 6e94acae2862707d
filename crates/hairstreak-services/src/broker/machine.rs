//! `Broker`: the state of mod.rs, and the events that change it.

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

/// How often the broker looks round.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How often it tries what a peer had no room for.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Clients, workers and what is between them.
///
/// `now` is the time since whoever drives it started counting; it never runs backwards. What it has to say goes to the
/// [`Outbox`] at once. [`Broker::next_timeout`] tells when it wants to be called though nothing happened.
#[derive(Debug)]
pub struct Broker {
    /// 128 random bits, so that peers tell it from the one before.
    pub(super) id: [u8; 16],
    pub(super) options: Options,
    pub(super) permissions: Permissions,
    pub(super) peers: HashMap<Box<[u8]>, Role>,
    pub(super) clients: Clients,
    pub(super) services: Services,
    pub(super) workers: Workers,
    pub(super) requests: Requests,
    /// Requests that wait for a worker that has them, as they came.
    pub(super) holding: RequestList,
    pub(super) early: EarlyReplies,
    /// Clients with replies that wait for them.
    pub(super) stalled: VecDeque<usize>,
    /// Workers that had no room for what they were to get.
    pub(super) full_workers: VecDeque<WorkerRef>,
    pub(super) expelled: VecDeque<Expulsion>,
    /// Clients of plain MDP so far.
    pub(super) plain_client_count: u64,
    pub(super) batch: Batch,
    pub(super) next_look: Duration,
    pub(super) next_retry: Duration,
    /// The last time it was told.
    pub(super) now: Duration,
    pub(super) drops: Drops,
    pub(super) last_reports: Vec<LastReport>,
}

/// Several events that are handled as one.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub is_open: bool,
    /// Services that something waits for, or whose workers have room, since the batch began.
    pub noted: Vec<usize>,
}

/// A peer that is told to go, then: at once, some would be back at once.
#[derive(Debug)]
pub(super) struct Expulsion {
    pub when: Duration,
    pub peer: Box<[u8]>,
    pub dialect: Dialect,
    pub reason: &'static str,
}

/// What a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It has connected, and said nothing of account.
    New,
    Client(usize),
    Worker(WorkerRef),
    /// It is told to go then.
    Expelled {
        when: Duration,
    },
}

impl Broker {
    /// A broker that knows nobody, and where users may do what the gate allows. `id` is 128 random bits.
    pub fn new(id: [u8; 16], options: Options, gate: Box<dyn Gate>) -> Broker {
        Broker {
            id,
            options,
            permissions: Permissions::new(gate),
            peers: HashMap::new(),
            clients: Clients::default(),
            services: Services::default(),
            workers: Workers::default(),
            // Other brokers name other runs.
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

    /// A peer has connected. `uses_hsn1`: it says that it speaks HSN1. Whoever had the routing id before is gone.
    pub fn handle_peer(&mut self, routing_id: &[u8], uses_hsn1: bool, out: &mut impl Outbox) {
        if let Some(role) = self.peers.insert(routing_id.into(), Role::New) {
            self.end(self.now, role, out);
        }
        if uses_hsn1 {
            let header =
                Header::Welcome { broker: self.id, heartbeat_ms: self.options.heartbeat_ms }.encode();
            // One that has gone again is told of by its notice.
            let _: Sent = out.send(routing_id, &[header.as_ref()], &[]);
        }
    }

    /// A peer's connection is over, and all its messages have come.
    pub fn handle_gone(&mut self, now: Duration, routing_id: &[u8], out: &mut impl Outbox) {
        self.now = now;
        if let Some(role) = self.peers.remove(routing_id) {
            self.end(now, role, out);
        }
    }

    /// Several events follow: requests go to workers when [`Broker::end_batch`] is called, so that each gets several at a time.
    pub fn begin_batch(&mut self) {
        self.batch.is_open = true;
    }

    /// A message came, its routing id in front.
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

    /// Time has passed.
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

    /// When [`Broker::handle_timeout`] wants to be called though nothing happens; `None`: not at all.
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

    /// How many requests it has.
    pub fn request_count(&self) -> usize {
        self.requests.len()
    }

    /// An id for a client that has none of its own.
    pub(super) fn plain_client_id(&mut self) -> ClientId {
        self.plain_client_count += 1;
        let mut id = self.id;
        id[8..].copy_from_slice(&self.plain_client_count.to_be_bytes());
        ClientId(id)
    }
}
