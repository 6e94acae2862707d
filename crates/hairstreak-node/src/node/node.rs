//! `Node`: the state that all connections of a process share.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hairstreak_base::BlockPool;
use hairstreak_broker::change::Change as Recorded;
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{ConnectionId, Limits, SegmentPool};
use hairstreak_store::NodeId;
use hairstreak_transport::event_loop::Address;
use parking_lot::{Mutex, MutexGuard};

use super::account::Account;
use super::catalog::Catalog;
use super::connections::{ConnectionEntry, Connections, NoPost, Post};
use super::hosts::Hosts;
use super::journal::{Commit, Journal, JournalError};
use super::lingering::Lingering;
use super::messages::Messages;
use super::outlets::OPERATORS;
use super::reached::Awaited;
use super::received::Publishers;
use super::recording::to_definition;
use super::refused_logins::RefusedLogins;
use super::settings::Settings;
use super::shared_host::{HostState, SharedHost};
use super::timekeeper::Clock;
use super::waiting::Waiter;
use crate::access::{Access, AccessOptions};
use crate::config::{AmqpConfig, NodeConfig, TlsConfig};
use crate::definitions::{Change, Definition, Kind, Place};
use crate::tls::LoginFrom;

/// The part of the memory watermark that is kept for messages to come: one of four.
const SPARE_PART: usize = 4;

/// Maximum wait of the timekeeper for one virtual host before it continues with the next.
const LOCK_WAIT_MAX: Duration = Duration::from_millis(1);
/// The limit of a virtual host for its connections.
const MAX_CONNECTIONS: &str = "max-connections";

/// The state that all connections share.
pub struct Node {
    /// The id of the data directory; of this process without one.
    pub id: NodeId,
    /// The clock of the virtual hosts.
    pub clock: Clock,
    /// Users and their rights.
    pub access: Access,
    /// Refused logins that the log has not reported.
    pub refused_logins: RefusedLogins,
    /// The part of a client's certificate that is the user's name.
    pub login_from: LoginFrom,
    /// Settings that a reload changes.
    pub settings: Settings,
    /// The memory of all hosts and connections, and the alarm.
    pub account: Arc<Account>,
    /// The memory of long bodies.
    pub pool: Arc<BlockPool>,
    /// The memory of messages to come.
    segments: Arc<SegmentPool>,
    /// The virtual hosts.
    pub hosts: Hosts,
    /// The connections.
    pub connections: Arc<Connections>,
    /// The places of closed connections that wait for their client.
    pub lingering: Lingering,
    /// The channels that have published.
    pub publishers: Arc<Publishers>,
    /// Definitions that do not live in virtual hosts.
    pub catalog: Catalog,
    /// The way of definitions to the disk.
    pub journal: Journal,
    /// The message log. `None`: messages are in memory only.
    pub messages: Option<Messages>,
    /// Bounds of each virtual host.
    limits: Limits,
    post: OnceLock<Box<dyn Post>>,
    /// To be held while the catalog changes, so that memory and journal have changes in the same order.
    pub changing: Mutex<()>,
}

impl Node {
    /// A node without virtual hosts.
    pub fn new(
        config: &NodeConfig,
        account: Arc<Account>,
        journal: Journal,
        messages: Option<Messages>,
    ) -> io::Result<Node> {
        let (rules, amqp) = (config.login_rules(), &config.amqp);
        Ok(Node {
            id: NodeId::random()?,
            clock: Clock::start(),
            access: Access::start(AccessOptions { rules, ..AccessOptions::default() })?,
            refused_logins: RefusedLogins::default(),
            login_from: amqp.tls.as_ref().map(TlsConfig::login_from).unwrap_or_default(),
            settings: Settings::new(amqp),
            account,
            pool: BlockPool::new(),
            segments: Arc::new(SegmentPool::new(amqp.memory_watermark / SPARE_PART)),
            hosts: Hosts::default(),
            connections: Arc::default(),
            lingering: Lingering::default(),
            publishers: Arc::default(),
            catalog: Catalog::default(),
            journal,
            messages,
            limits: amqp.limits.clone(),
            post: OnceLock::new(),
            changing: Mutex::new(()),
        })
    }

    /// Adds a virtual host. Returns false if the name is taken.
    pub fn add_host(&self, name: &str) -> bool {
        let (segments, account) = (Arc::clone(&self.segments), Arc::clone(&self.account));
        let host = SharedHost::new(name, self.limits.clone(), segments, account);
        let mut state = host.lock();
        state.host.changes_mut().record(self.journal.is_on());
        if let Some(messages) = &self.messages {
            state.host.log_messages(Arc::clone(messages.ids()));
        }
        host.note_memory(&mut state);
        drop(state);
        self.access.add_virtual_host(name);
        self.hosts.add(host)
    }

    /// Has limits that were configured anew take effect.
    pub fn set_limits(&self, config: &AmqpConfig) {
        self.settings.set(config);
        self.account.set_watermark(config.memory_watermark);
    }

    /// Sets the way to connections. Only the first counts: a node has one set of loops.
    pub fn set_post(&self, post: Box<dyn Post>) {
        let _ = self.post.set(post);
    }

    /// Returns the way to the connections.
    pub fn post(&self) -> &dyn Post {
        self.post.get().map_or(&NoPost, |post| &**post)
    }

    /// The limit of a virtual host for its connections, if it is reached.
    pub fn connection_limit(&self, virtual_host: &str) -> Option<i64> {
        let place = Place::new(Kind::VirtualHost, &[virtual_host.as_bytes()]);
        let Some(Definition::VirtualHost(host)) = self.catalog.find(&place) else { return None };
        let limit = *host.limits.get(MAX_CONNECTIONS)?;
        let count = self.connections.addresses(|connection| &*connection.virtual_host == virtual_host).len();
        usize::try_from(limit).is_ok_and(|limit| count >= limit).then_some(limit)
    }

    /// Returns true if publishers have to wait.
    #[inline]
    pub fn is_alarmed(&self) -> bool {
        self.account.alarm.is_raised()
    }

    /// Handles the alarm, the host's next timer, and changes that no client waits for. Call it before the host's lock is
    /// released.
    pub fn note(&self, host: &SharedHost, state: &mut HostState) {
        host.note_memory(state);
        if let Some(due) = state.host.next_timeout() {
            self.account.timekeeper.wake_by(due);
        }
        if self.segments.take_is_fresh() {
            self.account.timekeeper.wake_by(0);
        }
        if !state.host.changes_mut().is_empty() {
            self.keep(host, state, Vec::new(), |_| {});
        }
        self.hand_over(host, state);
    }

    /// Hands the records of a host to the message log. The caller holds the lock, and calls [`Node::wake_log`] behind it.
    #[inline]
    pub fn hand_over(&self, host: &SharedHost, state: &mut HostState) {
        let Some(messages) = &self.messages else { return };
        let changes = state.host.log_changes();
        if let Some(position) = messages.hand_over(&mut state.outlets.batch, changes, &self.journal) {
            state.log_position = position;
        }
        let HostState { host: machine, outlets, log_position, .. } = state;
        if !machine.page_requests().is_empty() {
            let requests = machine.page_requests().drain(..);
            messages.paging.serve(&host.pages, requests, &mut outlets.pages, (*log_position, outlets.now));
        }
    }

    /// Returns the commit of the messages that a host has handed to the message log so far, with that durability.
    pub fn logged(&self, host: &SharedHost, durability: Durability) -> Commit {
        let Some(messages) = &self.messages else { return Commit::done() };
        let position = host.lock().log_position;
        let (commit, end) = Commit::pending();
        messages.wait(Awaited { position, durability }, Waiter::Call(Box::new(end)));
        commit
    }

    /// Wakes the thread of the message log, if it has work. The caller holds no lock.
    #[inline]
    pub fn wake_log(&self) {
        if let Some(messages) = &self.messages {
            messages.wake();
        }
    }

    /// Hands the changes of a host to the journal. The caller holds the lock, so that changes arrive in their order. Without
    /// changes `done` gets an error only if an object of `places` is refused or stays undeleted.
    pub fn keep(
        &self,
        host: &SharedHost,
        state: &mut HostState,
        places: Vec<Place>,
        done: impl FnOnce(Result<(), JournalError>) + Send + 'static,
    ) {
        let changes = state.host.changes_mut().take();
        let changes: Vec<_> = changes.into_iter().map(|change| to_definition(host.name(), change)).collect();
        if changes.is_empty() {
            self.journal.wait(places, done);
        } else {
            self.journal.submit(changes, done);
        }
    }

    /// Has an operator act in a virtual host. `act` gets the time in the node's milliseconds.
    pub fn act<T>(&self, host: &SharedHost, act: impl FnOnce(&mut HostState, u64) -> T) -> (T, Commit) {
        let mut state = host.lock();
        let now = self.clock.millis(Instant::now());
        state.outlets.now = now;
        let result = act(&mut state, now);
        self.end_chores(&mut state, OPERATORS, Duration::MAX);
        let changes = state.host.changes_mut().take();
        let changes: Vec<_> = changes.into_iter().map(|change| to_definition(host.name(), change)).collect();
        let commit = self.journal.commit(&changes);
        let woken: Vec<Address> = state.outlets.woken().collect();
        self.note(host, &mut state);
        // A connection that waits for the lock has it next, however soon the operator comes again.
        MutexGuard::unlock_fair(state);
        self.wake_log();
        woken.into_iter().for_each(|address| self.post().wake(address));
        (result, commit)
    }

    /// Continues a connection's operation until the host has finished it, or `patience` is over. The work is done in slices, and
    /// others may take the lock between slices.
    pub fn end_chores(
        &self,
        state: &mut MutexGuard<'_, HostState>,
        connection: ConnectionId,
        patience: Duration,
    ) {
        let start = Instant::now();
        while state.host.has_to_wait(connection) && start.elapsed() < patience {
            MutexGuard::bump(state);
            let HostState { host, outlets, .. } = &mut **state;
            host.handle_timeout(self.clock.millis(Instant::now()), outlets);
        }
    }

    /// Puts a definition into the catalog, and hands the change to the journal. Returns whether the definition is new. The caller
    /// holds `changing`.
    pub fn put(&self, definition: Definition) -> (bool, Commit) {
        let before = self.catalog.put(definition.clone());
        let is_new = before.is_none();
        (is_new, self.journal.commit(&[Change::put(before, definition)]))
    }

    /// Returns the changes that delete every durable object of a host. Nothing of the host is recorded from here on.
    pub fn forget(&self, host: &SharedHost) -> Vec<Change> {
        let mut state = host.lock();
        state.host.forget_logged();
        // Changes before this one come before it in the journal.
        self.note(host, &mut state);
        state.host.changes_mut().record(false);
        let (host, name) = (&state.host, host.name());
        let bindings = whole(|from, rows| host.topology().binding_infos(from, usize::MAX, rows));
        let queues = whole(|from, rows| host.queue_infos(from, usize::MAX, rows));
        let exchanges = whole(|from, rows| host.topology().exchange_infos(from, usize::MAX, rows));
        let bindings = bindings.into_iter().map(Recorded::Unbound);
        let queues = queues.into_iter().map(|queue| Recorded::QueueDeleted { name: queue.name });
        let exchanges =
            exchanges.into_iter().map(|exchange| Recorded::ExchangeDeleted { name: exchange.name });
        bindings.chain(queues).chain(exchanges).map(|change| to_definition(name, change)).collect()
    }

    /// Closes the connections that `is_meant` picks. Returns how many.
    pub fn close_connections(&self, reason: &str, is_meant: impl Fn(&ConnectionEntry) -> bool) -> usize {
        let addresses = self.connections.addresses(is_meant);
        addresses.iter().for_each(|address| self.post().close(*address, reason));
        addresses.len()
    }

    /// A connection that is over leaves its host as soon as the host has time.
    pub fn leave_later(&self, host: &SharedHost, connection: ConnectionId) {
        host.leave_later(connection);
        self.account.timekeeper.wake_by(0);
    }

    /// Fires the due timers of the virtual hosts, and looks at the disk. A busy host is tried again a millisecond later. With `clears` all connections
    /// check the alarm. `time` returns the time, and `wake` wakes a connection. Returns the time of the next timer.
    pub fn fire(
        &self,
        clears: bool,
        time: impl Fn() -> Instant,
        mut wake: impl FnMut(Address),
    ) -> Option<u64> {
        let now = self.clock.millis(time());
        let (passing, look_at) = self.account.passes.give(&self.account.alarm, now);
        passing.into_iter().for_each(&mut wake);
        let look_at_disk = self.messages.as_ref().map(|messages| messages.look_at_disk(now));
        let mut next = [self.segments.trim(now), look_at, look_at_disk].into_iter().flatten().min();
        for host in self.hosts.all() {
            if clears {
                host.wake_all_later();
            }
            let mut patience = LOCK_WAIT_MAX;
            let Some(mut state) = host.lock_within(&mut patience) else {
                let soon = self.clock.millis(time()) + 1;
                next = Some(next.map_or(soon, |next| next.min(soon)));
                continue;
            };
            host.take_is_wanted();
            let now = self.clock.millis(time());
            state.outlets.now = now;
            for connection in host.take_leaving() {
                state.leave(connection, now);
            }
            let HostState { host: machine, outlets, .. } = &mut *state;
            let (retried, next_retry) = host.pages.deliver(machine, outlets, now);
            next = [next, next_retry].into_iter().flatten().min();
            if machine.next_timeout().is_some_and(|due| due <= now) {
                machine.handle_timeout(now, outlets);
            }
            if host.take_wakes_all() {
                outlets.wake_all();
            }
            outlets.woken().for_each(&mut wake);
            if !state.host.changes_mut().is_empty() {
                self.keep(&host, &mut state, Vec::new(), |_| {});
            }
            host.note_memory(&mut state);
            // A slice takes about a millisecond. Connections that wait for the lock have the host for as long before the next slice.
            let due = state.host.next_timeout();
            let due = if host.take_is_wanted() {
                due.map(|due| due.max(self.clock.millis(time()) + 1))
            } else {
                due
            };
            next = [next, due].into_iter().flatten().min();
            self.hand_over(&host, &mut state);
            if let Some(messages) = &self.messages {
                retried.into_iter().for_each(|request| messages.paging.read(&host.pages, request, now));
            }
            // A connection that waits for the lock has it next.
            MutexGuard::unlock_fair(state);
            self.wake_log();
        }
        next
    }
}

/// Returns all rows of a listing: follows its cursor to the end.
fn whole<T>(list: impl Fn(usize, &mut Vec<T>) -> Option<usize>) -> Vec<T> {
    let mut rows = Vec::new();
    let mut cursor = Some(0);
    while let Some(from) = cursor {
        cursor = list(from, &mut rows);
    }
    rows
}
