//! `AmqpHarness`: a node without threads, sockets and a clock, for the unit tests and the fuzz target.
//!
//! Each client is a connection of the node, and has an address. [`AmqpHarness::read`] takes the client's bytes, and
//! [`AmqpHarness::write`] the node's. Mail waits for [`AmqpHarness::settle`], timers for [`AmqpHarness::pass`], and the disk for
//! [`AmqpHarness::end_commit`].

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};
use std::{fmt, io};

use hairstreak_broker::vhost::MessageCounts;
use hairstreak_transport::event_loop::{Address, Harness};

use super::connection::{AmqpConnection, Mail, Phase};
use crate::access::LoginResult;
use crate::config::NodeConfig;
#[cfg(test)]
use crate::node::Lingering;
use crate::node::{JournalError, Node, Peer, Post, SharedHost};
use crate::operator;

/// Rounds of mail after which a node must be idle: mail must not create mail without end.
const SETTLE_ROUNDS: usize = 64;

/// A connection whose changes the disk has handled, their ticket, and the outcome.
type Committed = (Address, u64, Result<(), JournalError>);

/// A node, and the connections of its clients.
pub struct AmqpHarness {
    node: Arc<Node>,
    /// Answers of other threads.
    answers: Receiver<(Address, Mail)>,
    /// Connections whose changes the disk has handled.
    commits: Receiver<Committed>,
    connections: Harness<AmqpConnection>,
}

/// Messages and memory of the virtual hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostFigures {
    /// Messages, summed over the hosts.
    pub counts: MessageCounts,
    /// Bytes of messages, queue entries and unacknowledged deliveries.
    pub memory_bytes: usize,
    /// Bytes reported to the alarm: the bytes of the hosts, and the incomplete messages of connections.
    pub told_bytes: usize,
}

impl AmqpHarness {
    /// Creates a node without clients.
    ///
    /// Errors: the system has no descriptor to give, or the data directory cannot be used.
    pub fn new(config: &NodeConfig) -> io::Result<AmqpHarness> {
        let node = Arc::new(operator::open(config).map_err(io::Error::other)?);
        let (answer, answers) = mpsc::channel();
        let (commit, commits) = mpsc::channel();
        node.set_post(Box::new(HarnessPost { answer, commit }));
        Ok(AmqpHarness { node, answers, commits, connections: Harness::new(Instant::now())? })
    }

    /// A virtual host, for a test that keeps its lock.
    #[cfg(test)]
    pub(super) fn host(&self, name: &str) -> Arc<SharedHost> {
        self.node.hosts.find(name).expect("a virtual host")
    }

    /// The node, for a test that fires its timers.
    #[cfg(test)]
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// A client on this host connects. Returns its address.
    ///
    /// Errors: the system has no descriptor to give.
    pub fn connect(&mut self) -> io::Result<Address> {
        let connection = AmqpConnection::new(Arc::clone(&self.node), Peer::default(), self.connections.now());
        self.connections.add(connection)
    }

    /// Returns true if the connection exists: neither side has ended it, or the client has not read all output.
    pub fn is_connected(&self, client: Address) -> bool {
        self.connections.protocol(client).is_some()
    }

    /// Returns true if the client has completed the handshake, and the session goes on.
    pub fn is_running(&self, client: Address) -> bool {
        self.connections.protocol(client).is_some_and(|connection| connection.phase == Phase::Running)
    }

    /// Returns the number of connections that the node lists.
    #[cfg(test)]
    pub(crate) fn connection_count(&self) -> usize {
        self.node.connections.addresses(|_| true).len()
    }

    /// The places of connections that wait for their client.
    #[cfg(test)]
    pub(crate) fn lingering(&self) -> &Lingering {
        &self.node.lingering
    }

    /// Returns true if the node reads the client's data.
    pub fn is_reading(&self, client: Address) -> bool {
        self.connections.is_reading(client)
    }

    /// Bytes of the client that the node has read and not used.
    pub fn unread_bytes(&self, client: Address) -> usize {
        self.connections.unread_bytes(client)
    }

    /// The bytes that wait for the client, as operators see them.
    pub fn told_unwritten_bytes(&self, client: Address) -> Option<u64> {
        let member = self.connections.protocol(client)?.member.as_ref()?;
        Some(member.listed.entry.figures.unwritten_bytes.load(Relaxed))
    }

    /// One read finds these bytes of the client. Returns how many bytes were taken: none if the node does not read.
    pub fn read(&mut self, client: Address, bytes: &[u8]) -> usize {
        self.connections.read(client, bytes)
    }

    /// Reads at most `size_max` bytes of the node's output for the client.
    pub fn write(&mut self, client: Address, size_max: usize, into: &mut Vec<u8>) {
        self.connections.write(client, size_max, into);
    }

    /// The client sends nothing more.
    pub fn end_input(&mut self, client: Address) {
        self.connections.end_input(client);
    }

    /// The connection breaks.
    pub fn break_off(&mut self, client: Address) {
        self.connections.break_off(client);
    }

    /// Lets the disk refuse all later changes. It reports this when the sender sends or is dropped.
    #[cfg(test)]
    pub(super) fn refuse_changes(&self) -> Sender<()> {
        self.node.journal.close().unwrap();
        let (go_on, gone_on) = mpsc::channel();
        self.node.journal.submit(Vec::new(), move |_| {
            let _ = gone_on.recv();
        });
        go_on
    }

    /// An operator closes the connection.
    #[cfg(test)]
    pub(super) fn close(&mut self, client: Address, reason: &str) {
        self.connections.send(client, Mail::Close(reason.into()));
        self.settle();
    }

    /// The node is to stop.
    pub fn stop(&mut self) {
        self.connections.stop();
    }

    /// Time passes, and timers that are due fire.
    pub fn pass(&mut self, time: Duration) {
        self.connections.pass(time);
        let wakes = self.node.account.timekeeper.take_wakes_publishers();
        self.fire(wakes);
    }

    /// Adds a virtual host.
    #[cfg(test)]
    pub(super) fn add_host(&self, name: &str) {
        assert!(self.node.add_host(name));
    }

    /// One turn: connections that had found a lock taken try again, and mail is delivered. Returns how many calls there were.
    #[cfg(test)]
    pub(super) fn retry(&mut self) -> usize {
        self.connections.deliver_mail()
    }

    /// Hands in the answers to logins, without their consequences.
    #[cfg(test)]
    pub(super) fn settle_logins(&mut self) {
        let waits = |connection: &AmqpConnection| connection.phase == Phase::LogIn;
        while self.connections.protocols().any(waits)
            && let Ok((to, mail)) = self.answers.recv()
        {
            self.connections.send(to, mail);
            self.connections.deliver_mail();
        }
    }

    /// Delivers the mail between connections, and all that comes of it.
    ///
    /// # Panics
    ///
    /// If that does not end.
    pub fn settle(&mut self) {
        self.await_logins();
        for _ in 0..SETTLE_ROUNDS {
            let wakes = self.node.account.timekeeper.take_wakes_publishers();
            if wakes {
                self.fire(wakes);
            }
            self.end_chores();
            if self.connections.deliver_mail() == 0 && !wakes {
                return;
            }
        }
        panic!("mail without end");
    }

    /// Does the timekeeper's work for operations that take more than one turn.
    fn end_chores(&mut self) {
        let has_chores = |host: &Arc<SharedHost>| {
            let mut patience = Duration::ZERO;
            let state = host.lock_within(&mut patience);
            state.is_some_and(|state| state.host.next_timeout() == Some(0))
        };
        let account = Arc::clone(&self.node.account);
        while self.node.hosts.all().iter().any(has_chores) || account.passes.can_be_given(&account.alarm) {
            self.fire(false);
        }
    }

    /// Waits until the next changes of a connection are on disk, and reports that to the connection. With `error` it reports a
    /// refusal by the disk. The disk stalls until then.
    pub fn end_commit(&mut self, error: Option<&str>) {
        let Ok((to, ticket, result)) = self.commits.recv() else { return };
        match error.map_or(result, |error| Err(JournalError(error.into()))) {
            Ok(()) => self.connections.release(to, ticket),
            Err(error) => self.connections.send(to, Mail::Uncommitted(error)),
        }
        self.settle();
    }

    /// Hands in the answers of other threads. Waits for the answers that connections await.
    fn await_logins(&mut self) {
        let waits = |connection: &AmqpConnection| connection.phase == Phase::LogIn;
        let mut count = self.connections.protocols().filter(|connection| waits(connection)).count();
        while count > 0
            && let Ok((to, mail)) = self.answers.recv()
        {
            self.connections.send(to, mail);
            count -= 1;
        }
    }

    /// Figures of all virtual hosts.
    pub fn figures(&self) -> HostFigures {
        let mut figures =
            HostFigures { told_bytes: self.node.account.alarm.bytes(), ..HostFigures::default() };
        for host in self.node.hosts.all() {
            let state = host.lock();
            let MessageCounts { ready, unacknowledged } = state.host.message_counts();
            figures.counts.ready += ready;
            figures.counts.unacknowledged += unacknowledged;
            figures.memory_bytes += state.host.memory_bytes();
        }
        figures
    }

    fn fire(&mut self, clears: bool) {
        let now = self.connections.now();
        let connections = &mut self.connections;
        self.node.fire(clears, || now, |address| connections.send(address, Mail::Outlet));
    }
}

/// Keeps the answers of other threads for the harness.
struct HarnessPost {
    answer: Sender<(Address, Mail)>,
    commit: Sender<Committed>,
}

impl Post for HarnessPost {
    fn wake(&self, to: Address) {
        self.put(to, Mail::Outlet);
    }

    fn close(&self, to: Address, reason: &str) {
        self.put(to, Mail::Close(reason.into()));
    }

    fn logged_in(&self, to: Address, result: LoginResult) {
        self.put(to, Mail::LoggedIn(result));
    }

    fn committed(&self, to: Address, ticket: u64, result: Result<(), JournalError>) {
        // The harness may have been dropped.
        let _ = self.commit.send((to, ticket, result));
    }
}

impl HarnessPost {
    fn put(&self, to: Address, mail: Mail) {
        // The harness may have been dropped.
        let _ = self.answer.send((to, mail));
    }
}

impl fmt::Debug for AmqpHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpHarness").field("figures", &self.figures()).finish_non_exhaustive()
    }
}
