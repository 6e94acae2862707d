//! What an engine holds: sockets, links, listeners and connectors, in tables; all behind its lock.

use std::sync::Arc;
use std::task::Waker;
use std::thread::Thread;
use std::time::{Duration, Instant};

use hairstreak_transport::{Endpoint, Listener, ResolveError};
use hairstreak_wire::zmtp::SocketType;
use slab::Slab;

use super::link::{Link, LinkPlace, Origin};
use super::memory::Memory;
use super::ticks::Ticks;
use super::timers::Timers;
use super::waiters::Waiters;
use super::work::Work;
use super::yielding::Yielding;
use crate::monitor::{ConnectionId, MonitorSender};
use crate::options::{Distribution, Options, Overflow};
use crate::pattern::{Rules, rules};
use crate::pubsub::{Publisher, Subscriber};
use crate::reqrep::{Names, Notices, Reply, Request};
use crate::ring_link::Doorbell;
use crate::session::ArrivingBudget;
use crate::settlement::{Backlog, Senders, SocketName};
use crate::stats::Drops;

use super::authenticating::Question;
use super::routing::{SHORT_SIZE_MAX, SetAside, ShortIn, ShortOut};

/// The engine's tables. A socket, link, listener or connector is named by its index in its table.
pub(crate) struct State {
    /// Wakes the leader.
    pub doorbell: Arc<Doorbell>,
    /// Spare memory for messages, and the links that keep some of it.
    pub memory: Memory,
    pub sockets: Slab<SocketState>,
    pub links: Slab<Link>,
    pub listeners: Slab<BoundListener>,
    pub connectors: Slab<Connector>,
    /// Links with bytes or messages that gather.
    pub dirty: Vec<usize>,
    /// The caller that is about to sleep does so for want of room: the links that have some are not idle.
    pub waits_for_room: bool,
    /// How often a caller was about to sleep, and not for want of room: a stream that holds nothing is idle then, and writes
    /// the next message at once.
    pub sleep_count: u64,
    /// Sleeps of any kind, and besides how often a caller had taken all that it saw: a ring publishes the next message at
    /// once then, which is no system call as a stream's write is, and so pays where it is only perhaps an answer.
    pub pause_count: u64,
    /// Links that are rings.
    pub rings: Vec<usize>,
    /// Sockets that settle what they receive.
    pub settling_sockets: Vec<usize>,
    /// How long after the last look it is looked next what they have settled.
    pub settle_delay: Duration,
    /// Something waits for room in a ring, and nobody calls.
    pub rings_awaited: bool,
    /// Messages that crossed a ring since a caller last slept.
    pub ring_traffic: usize,
    pub ring_spin: super::rings::RingSpin,
    /// How often in a row looking into shared memory was in vain.
    pub spin_failures: u32,
    /// The longest time of its sockets' to yield before a sleep.
    pub yield_time: Duration,
    /// How long bytes gather before the flush tick.
    pub gather_time: Duration,
    pub yielding: Yielding,
    /// Serial numbers for links and connectors: an index is used again, a serial is not.
    pub next_serial: u32,
    /// Numbers for futures that wait.
    pub next_waiter: u64,

    /// Whether a thread sleeps in the poller or handles its events.
    pub leader: bool,
    /// The socket for which the leader waits, and whether there was news for it since it last looked.
    pub leads_for: Option<usize>,
    pub leader_has_news: bool,
    pub followers: Vec<Follower>,
    /// To be run when the lock has been released.
    pub after: Vec<After>,
    /// Turns led so far: how the tick sees that callers were here.
    pub turns: u64,
    /// Whether the events of a turn are being handled.
    pub handles_events: bool,
    /// Control work is due when it grows.
    pub work_since_turn: Work,
    /// What had used up its turn with more to be read: the leader must not sleep on it.
    pub unread: Vec<Unread>,
    /// A message encoded for several peers; kept for its memory.
    pub encoded: Vec<u8>,
    /// Whether the background thread watches the engine's poller.
    pub watched: bool,
    pub ticks: Ticks,
    /// When what is due in the tables.
    pub timers: Timers,
    /// The time of the last turn; good enough for time-outs of seconds.
    pub now: Instant,
}

/// A blocked thread that is not the leader.
pub(crate) struct Follower {
    pub socket: usize,
    pub thread: Thread,
}

/// What has more to be read at once than its turn allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Who waits for messages of the socket looks again.
    Socket(usize),
    Link(usize),
}

/// What must not happen under the lock.
pub(crate) enum After {
    Wake(Waker),
    /// Its last clone may hold a whole task, whose end is the application's code.
    Forget(Waker),
    /// Look for the inproc name of this connector (index, serial).
    ConnectInproc(usize, u32),
    /// Resolve the host of this connector (index, serial) on a thread of its own.
    Resolve(usize, u32),
    /// Have the publisher at the other end of this ring (index, serial) take the subscriptions in it.
    HandOver(usize, u32),
    /// Its stream is over.
    EndMonitor(MonitorSender),
    /// Ask the application about a client.
    Authenticate(Box<Question>),
}

pub(crate) struct SocketState {
    /// Tells it from another that has its index later.
    pub serial: u32,
    pub socket_type: SocketType,
    pub rules: &'static Rules,
    pub options: Arc<Options>,
    /// What becomes of a message without room.
    pub overflow: Overflow,
    /// Any short message goes to a link as it is: within the limits, and nothing else to be done.
    pub short_out: ShortOut,
    /// Any short message goes to the application as it came.
    pub short_in: ShortIn,
    /// Its ready links.
    pub links: Vec<usize>,
    /// Ready links with room, and whose turn it is; without the settled ones that are at rest, which are the backlog's.
    pub with_room: Vec<usize>,
    pub send_turn: usize,
    /// How far the turn goes on with a short message: not at all while a settled link has a grant.
    pub turn_step: usize,
    /// Ready links that may have a message, and whose turn it is.
    pub with_messages: Vec<usize>,
    pub receive_turn: usize,
    /// Ready ring links, which have no poller event and must be looked at.
    pub rings: Vec<usize>,
    /// What each pattern keeps, empty for the others.
    pub names: Names,
    pub notices: Notices,
    pub request: Request,
    pub reply: Reply,
    pub publisher: Publisher,
    pub subscriber: Subscriber,
    /// A PUSH that wants settlement: what it keeps beside its links.
    pub backlog: Option<Box<Backlog>>,
    /// Of a PULL that wants settlement: its senders.
    pub senders: Option<Senders>,
    /// A PULL whose messages are passed on: the PUSH, of the same engine, that does.
    pub passed_on_by: Option<SocketName>,
    /// A PULL whose senders are to tell what is done: it is passed on to another stage.
    pub wants_done: bool,
    /// A PULL that asked its senders for nothing new.
    pub drains: bool,
    /// Nanoseconds that the application takes for a message, if it says so.
    pub pace: Option<u64>,
    /// A PULL whose last sender said, before it went, that no message follows.
    pub has_seen_end: bool,
    /// The link of the last message that did not take the short way.
    pub last_link: usize,
    /// What a look for messages has found, for the next receive.
    pub set_aside: Option<SetAside>,
    /// Threads blocked in a receive.
    pub receivers: usize,
    /// A caller looks for its messages by itself: peers in shared memory do not ring.
    pub looked_at: bool,
    /// Who is told what happens to it.
    pub monitors: Vec<MonitorSender>,
    /// Tasks and pollers that wait.
    pub waiters: Waiters,
    /// No more names are bound for it, nor is anything else from `closed` on.
    pub closing: bool,
    pub closed: bool,
    /// No handle is left: its index may be used again once the last connection is gone.
    pub abandoned: bool,
    /// Connections in any phase.
    pub connection_count: usize,
    /// The number of the last one.
    pub last_connection: u64,
    /// What their messages hold that have not come whole.
    pub arriving: Arc<ArrivingBudget>,
    pub opened: Instant,
    pub sent: u64,
    /// Messages handed to the application, but for those of the present links.
    pub received: u64,
    /// Bytes, but for those of the present links.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub drops: Drops,
    pub failed_connections: u64,
    pub refused_connections: u64,
    pub denied_connections: u64,
}

impl SocketState {
    pub fn new(serial: u32, socket_type: SocketType, options: Options) -> SocketState {
        let rules = rules(socket_type);
        let overflow = options.overflow.unwrap_or_else(|| (rules.overflow)(&options));
        let has_short_out = overflow != Overflow::DropOldest
            && options.distribution == Distribution::RoundRobin
            && options.message_size_max >= SHORT_SIZE_MAX
            && options.frame_count_max >= 2;
        let settlement = options.settlement.clone();
        let is_pull = socket_type == SocketType::Pull;
        let senders = settlement.as_ref().filter(|_| is_pull).map(|wanted| Senders::new(wanted.settling));
        let backlog = settlement.filter(|_| rules.sends).map(|wanted| Box::new(Backlog::new(wanted)));
        SocketState {
            serial,
            socket_type,
            rules,
            overflow,
            short_out: if has_short_out { rules.short_out } else { ShortOut::No },
            short_in: rules.short_in,
            arriving: Arc::new(ArrivingBudget::new(options.arriving_bytes_max)),
            options: Arc::new(options),
            links: Vec::new(),
            with_room: Vec::new(),
            send_turn: 0,
            turn_step: 1,
            with_messages: Vec::new(),
            receive_turn: 0,
            rings: Vec::new(),
            names: Names::default(),
            notices: Notices::default(),
            request: Request::default(),
            reply: Reply::default(),
            publisher: Publisher::default(),
            subscriber: Subscriber::default(),
            backlog,
            senders,
            passed_on_by: None,
            wants_done: false,
            drains: false,
            pace: None,
            has_seen_end: false,
            last_link: 0,
            set_aside: None,
            receivers: 0,
            looked_at: false,
            waiters: Waiters::default(),
            monitors: Vec::new(),
            closing: false,
            closed: false,
            abandoned: false,
            connection_count: 0,
            last_connection: 0,
            opened: Instant::now(),
            sent: 0,
            received: 0,
            sent_bytes: 0,
            received_bytes: 0,
            drops: Drops::default(),
            failed_connections: 0,
            refused_connections: 0,
            denied_connections: 0,
        }
    }

    /// The link is none of the socket's ready links any more.
    pub fn leave(&mut self, link: &mut Link, index: usize) {
        self.links.retain(|&other| other != index);
        if let Some(senders) = &mut self.senders {
            senders.forget(index, &mut link.owed);
        }
    }
}

pub(crate) struct BoundListener {
    pub socket: usize,
    pub listener: Listener,
    /// Descriptors are short: a timer has it listen again.
    pub is_paused: bool,
}

/// What keeps one connected endpoint connected.
pub(crate) struct Connector {
    pub serial: u32,
    pub socket: usize,
    pub endpoint: Endpoint,
    pub attempt: u32,
    pub state: ConnectorState,
    /// Why the last look-up of its host failed.
    pub trouble: Option<ResolveError>,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum ConnectorState {
    /// A link is up or on its way.
    Linked,
    /// A timer starts the next attempt.
    Waiting,
    /// The resolver's thread, or the inproc registry, will call back.
    Asked,
}

/// Tokens of the poller: what an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Link { index: usize, serial: u32 },
    Listener { index: usize },
}

const LISTENER_BIT: u64 = 1 << 63;

impl Token {
    pub fn encode(self) -> u64 {
        match self {
            Token::Link { index, serial } => (u64::from(serial & 0x7fff_ffff) << 32) | index as u64,
            Token::Listener { index } => LISTENER_BIT | index as u64,
        }
    }

    pub fn decode(token: u64) -> Token {
        if token & LISTENER_BIT != 0 {
            return Token::Listener { index: (token & !LISTENER_BIT) as usize };
        }
        Token::Link { index: token as u32 as usize, serial: (token >> 32) as u32 }
    }
}

impl State {
    pub fn new(doorbell: Arc<Doorbell>, now: Instant) -> State {
        State {
            doorbell,
            memory: Memory::new(),
            sockets: Slab::new(),
            links: Slab::new(),
            listeners: Slab::new(),
            connectors: Slab::new(),
            dirty: Vec::new(),
            waits_for_room: false,
            sleep_count: 0,
            pause_count: 0,
            rings: Vec::new(),
            settling_sockets: Vec::new(),
            settle_delay: Duration::ZERO,
            rings_awaited: false,
            ring_traffic: 0,
            ring_spin: Default::default(),
            spin_failures: 0,
            yield_time: Duration::ZERO,
            gather_time: Duration::MAX,
            yielding: Yielding::default(),
            next_serial: 0,
            leader: false,
            leads_for: None,
            leader_has_news: false,
            followers: Vec::new(),
            after: Vec::new(),
            turns: 0,
            handles_events: false,
            work_since_turn: Work::default(),
            unread: Vec::new(),
            encoded: Vec::new(),
            next_waiter: 0,
            watched: false,
            ticks: Ticks::default(),
            timers: Timers::new(now),
            now,
        }
    }

    pub fn new_serial(&mut self) -> u32 {
        self.next_serial = (self.next_serial + 1) & 0x7fff_ffff;
        self.next_serial
    }

    /// The place of a new connection of the socket, which is counted.
    pub fn new_place(&mut self, socket: usize, origin: Origin, endpoint: Endpoint) -> LinkPlace {
        let serial = self.new_serial();
        let state = &mut self.sockets[socket];
        state.connection_count += 1;
        state.last_connection += 1;
        let id = ConnectionId(state.last_connection);
        LinkPlace { serial, socket, id, origin, endpoint, since: self.now }
    }

    /// Whether that socket (index, serial) is there, and open.
    pub fn is_open(&self, socket: usize, serial: u32) -> bool {
        self.sockets.get(socket).is_some_and(|socket| socket.serial == serial && !socket.closed)
    }

    /// Tells everybody who waits for this socket to look again.
    pub fn notify(&mut self, socket: usize) {
        self.notify_threads(socket);
        self.wake_waiters(socket);
    }

    /// As [`State::notify`], for news of messages alone: futures that take one each are woken one by one.
    pub fn notify_of_messages(&mut self, socket: usize) {
        self.notify_threads(socket);
        self.wake_for_messages(socket);
    }

    fn notify_threads(&mut self, socket: usize) {
        if self.leads_for == Some(socket)
            && !std::mem::replace(&mut self.leader_has_news, true)
            && self.leader
        {
            self.doorbell.poller.wake();
        }
        for follower in self.followers.iter().filter(|follower| follower.socket == socket) {
            follower.thread.unpark();
        }
    }

    /// Whether the socket connects only to hosts that the resolver does not know, and nobody can connect to it:
    /// then waiting for a peer is in vain.
    pub fn is_in_vain(&self, socket: usize) -> bool {
        let mut connectors =
            self.connectors.iter().filter(|(_, connector)| connector.socket == socket).peekable();
        connectors.peek().is_some()
            && connectors.all(|(_, c)| c.trouble.as_ref().is_some_and(|trouble| !trouble.is_temporary()))
            && !self.listeners.iter().any(|(_, bound)| bound.socket == socket)
    }

    /// Whether a task waits for any socket, or a message for room in a ring: then the engine must be
    /// watched while nobody is inside, rings included.
    pub fn is_awaited(&self) -> bool {
        self.rings_awaited || self.sockets.iter().any(|(_, socket)| !socket.waiters.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_were() {
        for token in [
            Token::Link { index: 0, serial: 0x7fff_ffff },
            Token::Link { index: u32::MAX as usize, serial: 1 },
            Token::Listener { index: 5 },
        ] {
            assert_eq!(Token::decode(token.encode()), token);
            assert_ne!(token.encode(), u64::MAX);
        }
    }
}
