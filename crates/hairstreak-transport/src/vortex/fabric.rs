//! `Fabric`: the process that owns a simulated switch, its cards and their streams. Other processes attach to it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hairstreak_fabric::Parallel;
use hairstreak_fabric::card::{CardLimits, Cell, CellCounts, SimulatedCards};
use hairstreak_fabric::parameters::SLOT_PICOSECONDS;
use hairstreak_fabric::stream::{StreamEvent, StreamId};
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
use rustix::net::{RecvFlags, sockopt};
use slab::Slab;

use super::address::is_name;
use super::attaching::{RING_SIZE, meeting_place};
use super::attachment::{Attachment, Greeting, Kind, Listening};
use super::clock::{FabricFacts, OwnClock};
use super::hello::{Attached, FabricRefusal, Hello, Wish, encode_answer};
use super::link::Link;
use super::options::{FabricError, FabricOptions, NETWORKS_MAX};
use super::rank::{DueRanks, Rank};
use crate::listener::Listener;
use crate::poller::{Interest, Poller, Readiness, Timer};
use crate::shm;
use crate::stream::{ClientLayer, ServerLayer, Stream, pair};

/// Slots between two looks at the sockets.
const TURN_SLOTS: u32 = 16;
/// Processes accepted between two turns.
const ACCEPT_MAX: usize = 16;
/// The time limit for the hello of a process.
const HELLO_TIME: Duration = Duration::from_secs(5);
/// The pause in which the fabric accepts no process because descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Serials are smaller, so that no token of an attachment is another token.
const SERIAL_MASK: u32 = (1 << 31) - 1;
const LISTENER_TOKEN: u64 = u64::MAX - 1;
const TIMER_TOKEN: u64 = u64::MAX - 2;

/// A simulated Data Vortex, to which processes attach.
///
/// ```
/// use hairstreak_transport::vortex::{Fabric, FabricOptions};
///
/// let mut fabric = Fabric::bind(&FabricOptions { heights: 4, angles: 2, ..FabricOptions::new("example-1") })?;
/// let stopper = fabric.stopper();
/// let running = std::thread::spawn(move || fabric.run());
/// // Processes of this host reach "vortex://example-1/0:5555" and others.
/// stopper.stop();
/// running.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fabric {
    shared: Arc<Shared>,
    listener: Listener,
    accept_pause: Timer,
    cards: SimulatedCards<Parallel<Switch<Cell>>>,
    ranks: Vec<Rank>,
    /// Ranks whose streams have something to do, or may.
    due: DueRanks,
    attachments: Slab<Attachment>,
    /// Processes that have not sent a hello, with their deadlines; and some that have.
    greetings: VecDeque<(Instant, usize, u32)>,
    next_serial: u32,
    facts: FabricFacts,
    clock: OwnClock,
}

/// Ends [`Fabric::run`].
#[derive(Clone, Debug)]
pub struct FabricStopper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    poller: Poller,
    is_stopping: AtomicBool,
}

impl FabricStopper {
    /// Has [`Fabric::run`] return.
    pub fn stop(&self) {
        self.0.is_stopping.store(true, Ordering::Release);
        self.0.poller.wake();
    }
}

impl Fabric {
    /// A fabric to which processes can attach. Nothing moves until [`Fabric::run`].
    ///
    /// # Errors
    ///
    /// See [`FabricError`].
    pub fn bind(options: &FabricOptions) -> Result<Fabric, FabricError> {
        let FabricOptions { name, heights, angles, networks } = options.clone();
        if !is_name(&name) {
            return Err(FabricError::Name(name));
        }
        if !(1..=NETWORKS_MAX).contains(&networks) {
            return Err(FabricError::Networks(networks));
        }
        let shape = Shape::new(heights, angles)?;
        let size = shape.port_count();
        let limits = CardLimits::default();
        limits.check(size)?;
        let switches = (0..networks).map(|_| Switch::new(shape, Permutation::Patent)).collect();
        let mut cards = SimulatedCards::new(Parallel::new(switches, size), size, limits)?;
        let ranks = (0..size).map(|rank| Rank::new(&cards.card(rank))).collect();
        let system = |error| FabricError::System(name.clone(), error);
        let listener = Listener::bind_ipc(&meeting_place(&name)).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => FabricError::InUse(name.clone()),
            _ => system(error),
        })?;
        // After the hello, which goes through the socket.
        let listener = listener.with_layer(ServerLayer::Rings { ring_size_max: RING_SIZE });
        let (poller, accept_pause) = (Poller::new().map_err(system)?, Timer::new().map_err(system)?);
        poller.add(&listener, LISTENER_TOKEN, Interest::Readable).map_err(system)?;
        poller.add(&accept_pause, TIMER_TOKEN, Interest::Readable).map_err(system)?;
        let mut epoch = [0; 8];
        rustix::rand::getrandom(&mut epoch, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| system(error.into()))?;
        let epoch = u64::from_ne_bytes(epoch);
        let facts = FabricFacts { epoch, heights, angles, networks, slot_picoseconds: SLOT_PICOSECONDS };
        Ok(Fabric {
            shared: Arc::new(Shared { poller, is_stopping: AtomicBool::new(false) }),
            listener,
            accept_pause,
            cards,
            ranks,
            due: DueRanks::new(size),
            attachments: Slab::new(),
            greetings: VecDeque::new(),
            next_serial: 0,
            facts,
            clock: OwnClock::new(facts)?,
        })
    }

    /// The facts of the fabric.
    pub fn facts(&self) -> FabricFacts {
        self.facts
    }

    /// Slots that have passed, and the cells that moved in them.
    pub fn counts(&self) -> (u64, CellCounts) {
        (self.cards.slot(), self.cards.counts())
    }

    /// A handle that ends [`Fabric::run`], from another thread.
    pub fn stopper(&self) -> FabricStopper {
        FabricStopper(Arc::clone(&self.shared))
    }

    /// Serves the processes, and steps the switch while there is something in it, until it is stopped.
    ///
    /// # Errors
    ///
    /// The system's poller fails.
    pub fn run(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let (mut events, mut is_busy) = (Vec::new(), false);
        while !shared.is_stopping.load(Ordering::Acquire) {
            let hello_time = self.end_greetings();
            let timeout = if is_busy { Some(Duration::ZERO) } else { hello_time };
            shared.poller.wait(timeout, |event| events.push(event))?;
            events.drain(..).for_each(|event| self.handle_event(event));
            is_busy = (0..TURN_SLOTS).all(|_| self.pass_slot());
            self.clock.set(self.cards.slot(), self.cards.counts().arrived);
        }
        Ok(())
    }

    /// Lets the streams work and a slot pass, unless there is no work.
    fn pass_slot(&mut self) -> bool {
        let mut has_acted = false;
        while let Some(rank) = self.due.take() {
            has_acted = true;
            let at = &mut self.ranks[rank as usize];
            at.streams.poll(&mut self.cards.card(rank));
            while let Some(event) = self.ranks[rank as usize].streams.next_event() {
                self.handle_stream(rank, event);
            }
            if self.ranks[rank as usize].streams.has_unsent() {
                self.due.put_off(rank);
            }
        }
        self.due.bring_back();
        if !has_acted && self.cards.is_idle() {
            return false;
        }
        let due = &mut self.due;
        self.cards.step_and_tell(|rank| due.add(rank));
        true
    }

    fn handle_stream(&mut self, rank: u32, event: StreamEvent) {
        match event {
            StreamEvent::Accepted { stream, port, .. } => {
                if !self.accept_stream(rank, stream, port) {
                    self.ranks[rank as usize].streams.reset(stream);
                }
            }
            StreamEvent::Opened(stream) => self.open_link(rank, stream),
            StreamEvent::Refused(stream) => {
                if let Some(&index) = self.ranks[rank as usize].links.get(&stream) {
                    self.refuse(index, FabricRefusal::NoListener);
                }
            }
            StreamEvent::Readable(stream) | StreamEvent::Writable(stream) => self.advance_link(rank, stream),
            StreamEvent::Done(stream) => self.tell_link(rank, stream, Link::on_peer_deaf),
            StreamEvent::Gone(stream) | StreamEvent::Lost(stream) => {
                self.tell_link(rank, stream, Link::on_stream_over);
            }
        }
    }

    /// A listener gets an end of a socket for a stream. Returns whether there is a listener, with room.
    fn accept_stream(&mut self, rank: u32, id: StreamId, port: u16) -> bool {
        let Some(&index) = self.ranks[rank as usize].listeners.get(&port) else { return false };
        let attachment = &mut self.attachments[index];
        let (Kind::Listening(_, listening), Ok((ours, theirs))) = (&mut attachment.kind, pair()) else {
            return false;
        };
        let process = attachment.process;
        if !listening.pass(&attachment.stream, theirs) {
            return false;
        }
        let ours = Stream::from_unix(ours).with_client_layer(&ClientLayer::Rings { ring_size: RING_SIZE });
        let Some(index) = self.add(process, ours, Kind::Link(rank, Link::new(id, true))) else {
            return false;
        };
        let at = &mut self.ranks[rank as usize];
        at.attach(process);
        at.links.insert(id, index);
        self.advance_link(rank, id);
        true
    }

    /// The other card has accepted: the process must give its rings.
    fn open_link(&mut self, rank: u32, id: StreamId) {
        let Some(&index) = self.ranks[rank as usize].links.get(&id) else { return };
        let attachment = &mut self.attachments[index];
        if let Kind::Link(_, link) = &mut attachment.kind {
            answer(&attachment.stream, Ok(Attached { rank, port: 0 }));
            link.open();
            self.advance_link(rank, id);
        }
    }

    fn tell_link(&mut self, rank: u32, id: StreamId, tell: impl FnOnce(&mut Link)) {
        if let Some(&index) = self.ranks[rank as usize].links.get(&id)
            && let Kind::Link(_, link) = &mut self.attachments[index].kind
        {
            tell(link);
            self.advance_link(rank, id);
        }
    }

    fn advance_link(&mut self, rank: u32, id: StreamId) {
        let at = &mut self.ranks[rank as usize];
        let Some(&index) = at.links.get(&id) else { return };
        let attachment = &mut self.attachments[index];
        if let Kind::Link(_, link) = &mut attachment.kind {
            let is_needed = link.advance(&mut attachment.stream, &mut at.streams);
            self.due.add(rank);
            if !is_needed {
                self.remove(index);
            }
        }
    }

    fn handle_event(&mut self, event: Readiness) {
        match event.token {
            LISTENER_TOKEN => return self.accept_processes(),
            TIMER_TOKEN => {
                self.accept_pause.acknowledge();
                let added = self.shared.poller.add(&self.listener, LISTENER_TOKEN, Interest::Readable);
                if added.is_err() {
                    self.accept_pause.arm(ACCEPT_PAUSE);
                }
                return;
            }
            _ => {}
        }
        let (index, serial) = (event.token as u32 as usize, (event.token >> 32) as u32);
        // The end of a process may be reported with its hello, and is not reported again.
        self.greet(index, serial);
        let attachments = &mut self.attachments;
        let Some(found) = attachments.get_mut(index).filter(|found| found.serial == serial) else { return };
        match &mut found.kind {
            Kind::Greeting(_) => {}
            Kind::Listening(_, listening) => {
                let is_there = listening.flush(&found.stream);
                if event.ended || !is_there {
                    self.remove(index);
                }
            }
            Kind::Link(rank, link) => {
                let (rank, id) = (*rank, link.id);
                if event.ended {
                    link.on_process_gone(&mut found.stream, &mut self.ranks[rank as usize].streams);
                }
                self.advance_link(rank, id);
            }
        }
    }

    fn accept_processes(&mut self) {
        // The listener reports further processes.
        for _ in 0..ACCEPT_MAX {
            match self.listener.accept() {
                Ok(Some(stream)) => self.accept_process(stream),
                Ok(None) => return,
                // Descriptors are short: a level-triggered listener would spin.
                Err(_) => {
                    self.shared.poller.remove(&self.listener);
                    return self.accept_pause.arm(ACCEPT_PAUSE);
                }
            }
        }
    }

    /// A process of this user, or of root.
    fn accept_process(&mut self, stream: Stream) {
        let owner = rustix::process::geteuid();
        match sockopt::socket_peercred(stream.socket()) {
            Ok(peer) if peer.uid == owner || peer.uid.is_root() => {
                let process = peer.pid.as_raw_nonzero().get().unsigned_abs();
                if let Some(index) = self.add(process, stream, Kind::Greeting(Greeting::new())) {
                    let serial = self.attachments[index].serial;
                    self.greetings.push_back((Instant::now() + HELLO_TIME, index, serial));
                    self.greet(index, serial);
                }
            }
            _ => answer(&stream, Err(FabricRefusal::User)),
        }
    }

    fn find(&mut self, index: usize, serial: u32) -> Option<&mut Attachment> {
        self.attachments.get_mut(index).filter(|found| found.serial == serial)
    }

    /// Drops processes that have not sent a hello in time. Returns the time until the next look.
    fn end_greetings(&mut self) -> Option<Duration> {
        while let Some(&(deadline, index, serial)) = self.greetings.front() {
            let is_greeting = |found: &&mut Attachment| matches!(found.kind, Kind::Greeting(_));
            let is_waiting = self.find(index, serial).filter(is_greeting).is_some();
            let left = deadline.saturating_duration_since(Instant::now());
            if is_waiting && !left.is_zero() {
                return Some(left);
            }
            self.greetings.pop_front();
            if is_waiting {
                self.remove(index);
            }
        }
        None
    }

    /// Reads the wish of a process that has not sent its hello yet.
    fn greet(&mut self, index: usize, serial: u32) {
        let Some(attachment) = self.find(index, serial) else { return };
        let Kind::Greeting(greeting) = &mut attachment.kind else { return };
        match greeting.advance(&attachment.stream) {
            Ok(None) => {}
            Ok(Some(hello)) => {
                if let Err(refusal) = hello.and_then(|hello| self.attach(index, hello)) {
                    self.refuse(index, refusal);
                }
            }
            Err(_) => self.remove(index),
        }
    }

    fn refuse(&mut self, index: usize, refusal: FabricRefusal) {
        answer(&self.attachments[index].stream, Err(refusal));
        self.remove(index);
    }

    /// Serves the wish of a process.
    fn attach(&mut self, index: usize, hello: Hello) -> Result<(), FabricRefusal> {
        let size = self.ranks.len() as u32;
        let process = self.attachments[index].process;
        match hello.wish {
            Wish::Clock => {
                self.clock.give(self.attachments[index].stream.socket());
                self.remove(index);
            }
            Wish::Listen => {
                let rank = self.rank_for(process, hello.rank)?;
                if let Some(&other) = self.ranks[rank as usize].listeners.get(&hello.port)
                    && has_ended(&self.attachments[other].stream)
                {
                    // The listener's event has not come yet.
                    self.remove(other);
                }
                let at = &mut self.ranks[rank as usize];
                let refusal = if hello.port == 0 { FabricRefusal::Full } else { FabricRefusal::InUse };
                let port = at.free_port(hello.port).ok_or(refusal)?;
                at.attach(process);
                at.listeners.insert(port, index);
                at.streams.listen(port);
                answer(&self.attachments[index].stream, Ok(Attached { rank, port }));
                self.attachments[index].kind = Kind::Listening(rank, Listening::new(port));
            }
            Wish::Connect => {
                let to = hello.rank.filter(|rank| *rank < size).ok_or(FabricRefusal::Rank(size))?;
                let rank = self.rank_for(process, hello.from)?;
                let at = &mut self.ranks[rank as usize];
                let id = at.streams.open(to, hello.port).map_err(|_| FabricRefusal::Full)?;
                at.attach(process);
                at.links.insert(id, index);
                self.due.add(rank);
                self.attachments[index].kind = Kind::Link(rank, Link::new(id, false));
            }
        }
        Ok(())
    }

    /// The rank that a process names, or has, or is given: the one with the fewest processes.
    fn rank_for(&self, process: u32, named: Option<u32>) -> Result<u32, FabricRefusal> {
        let size = self.ranks.len() as u32;
        if let Some(named) = named {
            return if named < size { Ok(named) } else { Err(FabricRefusal::Rank(size)) };
        }
        let ranks = || (0..).zip(&self.ranks);
        let own = ranks().find(|(_, rank)| rank.has_process(process));
        let chosen = own.or_else(|| ranks().min_by_key(|(_, rank)| rank.process_count()));
        chosen.map(|(rank, _)| rank).ok_or(FabricRefusal::Rank(size))
    }

    /// A socket of a process is watched. `None`: the system has no room for it.
    fn add(&mut self, process: u32, stream: Stream, kind: Kind) -> Option<usize> {
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1) & SERIAL_MASK;
        let entry = self.attachments.vacant_entry();
        let (index, token) = (entry.key(), u64::from(serial) << 32 | entry.key() as u64);
        self.shared.poller.add(stream.socket(), token, Interest::Edges).ok()?;
        entry.insert(Attachment { serial, process, stream, kind });
        Some(index)
    }

    /// Closes a socket. The stream of its link, if it has one, continues by itself.
    fn remove(&mut self, index: usize) {
        let Attachment { process, stream, kind, .. } = self.attachments.remove(index);
        self.shared.poller.remove(stream.socket());
        let (Kind::Listening(rank, _) | Kind::Link(rank, _)) = kind else { return };
        let at = &mut self.ranks[rank as usize];
        at.detach(process);
        match kind {
            Kind::Greeting(_) => {}
            Kind::Listening(_, listening) => {
                at.listeners.remove(&listening.port);
                at.streams.stop_listening(listening.port);
            }
            Kind::Link(_, link) => _ = at.links.remove(&link.id),
        }
    }
}

/// Returns `true` if the process at the other end has closed the socket.
fn has_ended(stream: &Stream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    matches!(rustix::net::recv(stream.socket(), &mut [0; 1][..], flags), Ok((_, 0)))
}

/// Answers a process, which may be gone.
fn answer(stream: &Stream, answer: Result<Attached, FabricRefusal>) {
    // A socket that nothing was written to has room.
    let _ = shm::send(stream.socket(), &encode_answer(answer));
}
