//! `Engine`: the events of a simulation, in order of their times.
//!
//! Invariants: time never goes back; events of one instant happen in the order in which they were planned; each message is in one
//! place: on its way, in a queue, or in a server.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;

use super::carriage::Carriage;
use super::cores::Cores;
use super::layout::{Layout, Role, Step};
use super::load::{Arrivals, Load};
use super::server::{Parts, Phase, Server};
use super::tally::Tally;
use crate::distribution::mix;
use crate::network::{LinkCost, Network};
use crate::pipeline::{Pipeline, Routing, Window};

/// The server that starts each message.
const SOURCE: usize = 0;
/// The seeds of arrivals and of random routing.
const ARRIVAL_STREAM: u64 = u64::MAX;
const ROUTING_STREAM: u64 = u64::MAX - 1;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A message reaches the queue of a server.
    Arrive { server: usize, message: u64 },
    /// A server continues with its message.
    Continue { server: usize },
    /// A link writes its gathered messages.
    Flush { server: usize, link: usize },
    /// An acknowledgement of `count` results reaches the source.
    Acknowledge { count: u64 },
    /// A message arrives at the source.
    Come,
}

/// The state of a link: the time of its last write, and the messages that it gathers.
#[derive(Clone, Default)]
struct Link {
    written_at: Option<u64>,
    target: usize,
    gathered: Vec<u64>,
}

/// The state of the network.
enum Carrier {
    /// Messages arrive after this time, in nanoseconds.
    Hop(u64),
    Links(LinksState),
    Fabric {
        carriage: Box<Carriage>,
        overhead: u64,
        packets: u64,
    },
}

struct LinksState {
    cost: LinkCost,
    gather: u64,
    /// The number of gathered messages that are written before `gather` has passed.
    gather_count: u64,
    links: Vec<Link>,
}

pub(super) struct Engine<'a> {
    pipeline: &'a Pipeline,
    load: Load,
    messages: u64,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// The events of this instant.
    due: VecDeque<Event>,
    layout: Layout,
    cores: Option<Cores>,
    carrier: Carrier,
    routing_rng: Rng,
    arrival_rng: Rng,
    /// Arrival times of the messages that wait for the source.
    backlog: VecDeque<u64>,
    came: u64,
    unacknowledged: u64,
    results_to_acknowledge: u64,
    window_closed_at: Option<u64>,
    held_since: Vec<u64>,
    pub(super) tally: Tally,
}

impl<'a> Engine<'a> {
    pub(super) fn new(pipeline: &'a Pipeline, load: Load, messages: u64) -> Engine<'a> {
        let layout = Layout::new(pipeline);
        let steps = layout.steps.len();
        let carrier = carrier(pipeline, load.size, &layout);
        Engine {
            pipeline,
            load,
            messages,
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            due: VecDeque::new(),
            cores: pipeline.cores().map(Cores::new),
            carrier,
            routing_rng: Rng::with_seed(mix(load.seed, ROUTING_STREAM, 0)),
            arrival_rng: Rng::with_seed(mix(load.seed, ARRIVAL_STREAM, 0)),
            backlog: VecDeque::new(),
            came: 0,
            unacknowledged: 0,
            results_to_acknowledge: 0,
            window_closed_at: None,
            held_since: vec![0; steps],
            tally: Tally::new(steps, messages),
            layout,
        }
    }

    /// Simulates until the last result. Returns its time.
    pub(super) fn run(&mut self) -> u64 {
        self.due.push_back(Event::Come);
        while (self.tally.ended.len() as u64) < self.messages {
            if let Some(event) = self.due.pop_front() {
                self.handle(event);
            } else if !self.pass_time() {
                break;
            }
        }
        debug_assert_eq!(
            self.tally.ended.len() as u64,
            self.messages,
            "nothing happens, and messages are left"
        );
        for server in &mut self.layout.servers {
            if server.phase != Phase::Idle && server.blocked_since.is_none() {
                server.busy_ns += self.now - server.busy_since;
            }
        }
        self.now
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The time for which the busiest port of the fabric had packets to send, in nanoseconds.
    pub(super) fn busiest_port_ns(&self) -> u64 {
        match &self.carrier {
            Carrier::Fabric { carriage, .. } => carriage.busiest_ns(),
            _ => 0,
        }
    }

    /// Advances the time to the next event, end of work or slot. Returns `false` if there is none.
    fn pass_time(&mut self) -> bool {
        let event_at = self.events.peek().map(|Reverse((at, ..))| *at);
        let work_at = self.cores.as_ref().and_then(Cores::next);
        let slot_at = match &self.carrier {
            Carrier::Fabric { carriage, .. } => carriage.next(),
            _ => None,
        };
        let Some(now) = [event_at, work_at, slot_at].into_iter().flatten().min() else { return false };
        self.now = now;
        if work_at == Some(now) {
            while let Some(server) = self.cores.as_mut().and_then(|cores| cores.take_done(now)) {
                self.due.push_back(Event::Continue { server });
            }
        }
        while let Some(Reverse((at, _, event))) = self.events.peek()
            && *at == now
        {
            self.due.push_back(*event);
            self.events.pop();
        }
        if slot_at == Some(now)
            && let Carrier::Fabric { carriage, .. } = &mut self.carrier
        {
            let (events, order) = (&mut self.events, &mut self.order);
            carriage.step(|at, (server, message)| {
                let event = match server {
                    SOURCE => Event::Acknowledge { count: message },
                    _ => Event::Arrive { server, message },
                };
                *order += 1;
                events.push(Reverse((at, *order, event)));
            });
        }
        true
    }

    fn plan(&mut self, after_ns: u64, event: Event) {
        if after_ns == 0 {
            self.due.push_back(event);
        } else {
            self.order += 1;
            self.events.push(Reverse((self.now + after_ns, self.order, event)));
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive { server, message } => {
                let receiver = &mut self.layout.servers[server];
                receiver.coming -= 1;
                receiver.queue.push_back(message);
                if receiver.phase == Phase::Idle {
                    receiver.was_idle = true;
                    self.take(server);
                    self.advance(server);
                }
            }
            Event::Continue { server } => self.advance(server),
            Event::Flush { server, link } => {
                if self.is_flush_due(link) {
                    self.flush(server, link);
                }
            }
            Event::Acknowledge { count } => {
                self.unacknowledged -= count;
                if let Carrier::Links(links) = &self.carrier {
                    self.layout.servers[SOURCE].debt += links.cost.receive_alone_ns as u64;
                }
                self.wake_source();
            }
            Event::Come => self.come(),
        }
    }

    /// The next message arrives at the source. In a saturated run all messages arrive at once.
    fn come(&mut self) {
        match self.load.arrivals {
            Arrivals::Saturated => self.came = self.messages,
            Arrivals::Poisson { per_s } => {
                if self.came > 0 {
                    self.backlog.push_back(self.now);
                }
                if self.came < self.messages {
                    self.came += 1;
                    let gap = -(1.0 - self.arrival_rng.f64()).ln() * 1e9 / per_s;
                    self.plan((gap.round() as u64).max(1), Event::Come);
                }
            }
        }
        self.wake_source();
    }

    fn wake_source(&mut self) {
        if self.layout.servers[SOURCE].phase == Phase::Idle && self.begin() {
            self.advance(SOURCE);
        }
    }

    /// The source takes its next message, if there is one and the window is open. Returns whether it has taken one.
    fn begin(&mut self) -> bool {
        let next = self.tally.began.len() as u64;
        let is_there = match self.load.arrivals {
            Arrivals::Saturated => next < self.came,
            Arrivals::Poisson { .. } => !self.backlog.is_empty(),
        };
        if !is_there {
            return false;
        }
        if self.pipeline.window().is_some_and(|window| self.unacknowledged >= window.count) {
            self.window_closed_at.get_or_insert(self.now);
            return false;
        }
        if let Some(since) = self.window_closed_at.take() {
            self.tally.window_ns += self.now - since;
        }
        let came_at = self.backlog.pop_front();
        self.tally.began.push(came_at.unwrap_or(self.now));
        let source = &mut self.layout.servers[SOURCE];
        (source.message, source.phase, source.busy_since) = (next, Phase::Route, self.now);
        true
    }

    /// A server takes the next message of its queue. Returns `false` if the queue is empty.
    fn take(&mut self, server: usize) -> bool {
        let now = self.now;
        let own = &mut self.layout.servers[server];
        let Some(message) = own.queue.pop_front() else { return false };
        let step = own.step;
        let (times, seed) = (self.layout.steps[step].times, self.load.seed);
        own.parts = times.parts(times.distribution.factor(seed, step, message));
        (own.message, own.phase, own.busy_since) = (message, Phase::Receive, now);
        self.tally.waiting[step].change(now, -1);
        if let Some(sender) = self.layout.steps[step].blocked.pop_front() {
            self.due.push_back(Event::Continue { server: sender });
        }
        true
    }

    /// A server runs its phases until one of them takes time.
    fn advance(&mut self, server: usize) {
        loop {
            let is_sink = self.step_of(server).role == Role::Sink;
            let own = &mut self.layout.servers[server];
            let parts = own.parts;
            let goes_on = match own.phase {
                Phase::Idle => false,
                Phase::Receive => {
                    own.phase = Phase::Wait;
                    // Two adjacent times of work are one event.
                    let work = if parts.wait == 0 { std::mem::take(&mut own.parts.work) } else { 0 };
                    let cost = self.receive_cost(server);
                    self.works(server, work + cost)
                }
                Phase::Wait => {
                    own.phase = Phase::Work;
                    self.waits(server, parts.wait)
                }
                Phase::Work => {
                    own.phase = Phase::Lock;
                    self.works(server, parts.work)
                }
                Phase::Lock => self.locks(server),
                Phase::SerialWait => {
                    own.phase = Phase::SerialWork;
                    self.waits(server, parts.serial_wait)
                }
                Phase::SerialWork => {
                    own.phase = Phase::Unlock;
                    self.works(server, parts.serial_work)
                }
                Phase::Unlock => self.unlock(server),
                Phase::Route if is_sink => {
                    self.end(server);
                    self.takes_another(server)
                }
                Phase::Route => match self.choose(server) {
                    Some(target) => {
                        let cost = self.turn_to(server, target);
                        self.works(server, cost)
                    }
                    None => self.blocks(server),
                },
                Phase::Send => {
                    self.transmit(server);
                    self.takes_another(server)
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    /// A server begins `work_ns` nanoseconds of work. Returns `true` if the server continues at once.
    fn works(&mut self, server: usize, work_ns: u64) -> bool {
        self.tally.work_ns += work_ns as f64;
        match &mut self.cores {
            Some(cores) if work_ns > 0 => {
                cores.start(self.now, server, work_ns);
                false
            }
            _ => self.waits(server, work_ns),
        }
    }

    /// A server waits for `time_ns` nanoseconds. Returns `true` if the server continues at once.
    fn waits(&mut self, server: usize, time_ns: u64) -> bool {
        if time_ns > 0 {
            self.plan(time_ns, Event::Continue { server });
        }
        time_ns == 0
    }

    /// A server asks for the shared resource of its step. Returns `true` if the server holds it, or needs none.
    fn locks(&mut self, server: usize) -> bool {
        let own = &mut self.layout.servers[server];
        let step = &mut self.layout.steps[own.step];
        let Parts { serial_wait, serial_work, .. } = own.parts;
        if serial_wait + serial_work == 0 {
            own.phase = Phase::Route;
            return true;
        }
        if step.holder.is_some() {
            step.lock_queue.push_back(server);
            return false;
        }
        step.holder = Some(server);
        own.phase = Phase::SerialWait;
        self.held_since[own.step] = self.now;
        true
    }

    fn unlock(&mut self, server: usize) -> bool {
        let own = &mut self.layout.servers[server];
        own.phase = Phase::Route;
        let (step, now) = (own.step, self.now);
        self.tally.held_ns[step] += now - self.held_since[step];
        self.held_since[step] = now;
        let next = self.layout.steps[step].lock_queue.pop_front();
        self.layout.steps[step].holder = next;
        if let Some(next) = next {
            self.layout.servers[next].phase = Phase::SerialWait;
            self.due.push_back(Event::Continue { server: next });
        }
        true
    }

    /// The message has left. Returns `true` if the server has taken another one.
    fn takes_another(&mut self, server: usize) -> bool {
        let own = &mut self.layout.servers[server];
        own.busy_ns += self.now - own.busy_since;
        own.phase = Phase::Idle;
        let has_another = if server == SOURCE { self.begin() } else { self.take(server) };
        if !has_another {
            self.rest(server);
        }
        has_another
    }

    /// A server sleeps: its links write their gathered messages.
    fn rest(&mut self, server: usize) {
        while let Some(link) = self.layout.servers[server].gathering.pop() {
            self.flush(server, link);
        }
    }

    /// A server waits until an instance of the next step has room.
    fn blocks(&mut self, server: usize) -> bool {
        let own = &mut self.layout.servers[server];
        if own.blocked_since.is_none() {
            own.busy_ns += self.now - own.busy_since;
            own.blocked_since = Some(self.now);
        }
        let next = own.step + 1;
        self.layout.steps[next].blocked.push_front(server);
        self.rest(server);
        false
    }

    fn step_of(&self, server: usize) -> &Step {
        &self.layout.steps[self.layout.servers[server].step]
    }

    /// The instance of the next step that gets a server's message. `None` while no instance has room.
    fn choose(&mut self, server: usize) -> Option<usize> {
        let own = &self.layout.servers[server];
        let next = &self.layout.steps[own.step + 1];
        let (first, count) = (next.first, next.count);
        let turn = if self.layout.shares_turn { next.turn } else { own.turn };
        let start = match self.pipeline.routing() {
            Routing::Random => self.routing_rng.usize(0..count),
            Routing::RoundRobin | Routing::LeastLoaded => turn,
        };
        let in_turn = (start..count).chain(0..start);
        let servers = &self.layout.servers;
        let mut with_room = in_turn.filter(|place| servers[first + place].waiting() < self.pipeline.queue());
        let place = match self.pipeline.routing() {
            Routing::LeastLoaded => with_room.min_by_key(|place| servers[first + place].load()),
            Routing::RoundRobin | Routing::Random => with_room.next(),
        }?;
        let after = if place + 1 == count { 0 } else { place + 1 };
        if self.layout.shares_turn {
            let step = self.layout.servers[server].step + 1;
            self.layout.steps[step].turn = after;
        } else {
            self.layout.servers[server].turn = after;
        }
        Some(first + place)
    }

    /// A server begins to send to `target`. Returns the work of sending, in nanoseconds.
    fn turn_to(&mut self, server: usize, target: usize) -> u64 {
        let now = self.now;
        self.layout.servers[target].coming += 1;
        let own = &mut self.layout.servers[server];
        (own.target, own.phase) = (target, Phase::Send);
        if let Some(since) = own.blocked_since.take() {
            own.blocked_ns += now - since;
            own.busy_since = now;
        }
        let debt = std::mem::take(&mut own.debt);
        self.tally.waiting[own.step + 1].change(now, 1);
        if server == SOURCE {
            self.unacknowledged += 1;
            self.tally.in_flight.change(now, 1);
        }
        let link = self.link(server, target);
        let cost = match &self.carrier {
            Carrier::Hop(_) => 0,
            Carrier::Links(links) if links.is_idle(link, now) => links.cost.send_alone_ns as u64,
            Carrier::Links(links) => links.cost.send_ns as u64,
            Carrier::Fabric { overhead, .. } => *overhead,
        };
        debt + cost
    }

    /// The work to receive a server's message, and the server's debt.
    fn receive_cost(&mut self, server: usize) -> u64 {
        let own = &mut self.layout.servers[server];
        let was_idle = std::mem::take(&mut own.was_idle);
        let cost = match &self.carrier {
            Carrier::Hop(_) => 0,
            Carrier::Links(links) if was_idle => links.cost.receive_alone_ns as u64,
            Carrier::Links(links) => links.cost.receive_ns as u64,
            Carrier::Fabric { overhead, .. } => *overhead,
        };
        std::mem::take(&mut own.debt) + cost
    }

    /// The index of the link between two servers.
    fn link(&self, server: usize, target: usize) -> usize {
        let own = &self.layout.servers[server];
        own.first_link + target - self.layout.steps[own.step + 1].first
    }

    /// A server's message leaves.
    fn transmit(&mut self, server: usize) {
        let now = self.now;
        let Server { message, target, step, .. } = self.layout.servers[server];
        let place = self.link(server, target);
        let arrive = Event::Arrive { server: target, message };
        match &mut self.carrier {
            Carrier::Hop(hop) => {
                let hop = if self.layout.steps[step].hops { *hop } else { 0 };
                self.plan(hop, arrive);
            }
            Carrier::Links(links) if links.is_idle(place, now) => {
                let latency = links.cost.latency_ns as u64;
                links.links[place].written_at = Some(now);
                self.plan(latency, arrive);
            }
            Carrier::Links(links) => {
                let link = &mut links.links[place];
                link.target = target;
                link.gathered.push(message);
                let gathered = link.gathered.len() as u64;
                let write_at = link.written_at.unwrap_or(0) + links.gather;
                if gathered >= links.gather_count {
                    self.flush(server, place);
                } else if gathered == 1 {
                    self.layout.servers[server].gathering.push(place);
                    self.plan(write_at.saturating_sub(now), Event::Flush { server, link: place });
                }
            }
            Carrier::Fabric { carriage, packets, .. } => {
                carriage.send(now, server, target, *packets, (target, message));
            }
        }
    }

    fn is_flush_due(&self, link: usize) -> bool {
        let Carrier::Links(links) = &self.carrier else { return false };
        links.links[link].written_at.is_none_or(|at| self.now >= at + links.gather)
    }

    /// A link writes its gathered messages together.
    fn flush(&mut self, server: usize, link: usize) {
        let Carrier::Links(links) = &mut self.carrier else { return };
        let gathered = std::mem::take(&mut links.links[link].gathered);
        if gathered.is_empty() {
            return;
        }
        let (target, latency) = (links.links[link].target, links.cost.latency_ns as u64);
        links.links[link].written_at = Some(self.now);
        let write = (links.cost.send_alone_ns - links.cost.send_ns).max(0.0);
        self.layout.servers[server].debt += write as u64;
        for message in gathered {
            self.plan(latency, Event::Arrive { server: target, message });
        }
    }

    /// The sink has a result.
    fn end(&mut self, sink: usize) {
        let message = self.layout.servers[sink].message;
        self.tally.in_flight.change(self.now, -1);
        self.tally.latencies.push(self.now - self.tally.began[message as usize]);
        self.tally.ended.push(self.now);
        let Some(Window { acknowledge, .. }) = self.pipeline.window() else { return };
        self.results_to_acknowledge += 1;
        if self.results_to_acknowledge < acknowledge {
            return;
        }
        let count = std::mem::take(&mut self.results_to_acknowledge);
        let acknowledged = Event::Acknowledge { count };
        match &mut self.carrier {
            Carrier::Hop(hop) => {
                let hop = *hop;
                self.plan(hop, acknowledged);
            }
            Carrier::Links(links) => {
                let (send, latency) = (links.cost.send_alone_ns as u64, links.cost.latency_ns as u64);
                self.layout.servers[sink].debt += send;
                self.plan(send + latency, acknowledged);
            }
            Carrier::Fabric { carriage, .. } => carriage.send(self.now, sink, SOURCE, 1, (SOURCE, count)),
        }
    }
}

impl LinksState {
    /// Returns `true` if a message would be written at once.
    fn is_idle(&self, link: usize, now: u64) -> bool {
        let link = &self.links[link];
        link.gathered.is_empty() && link.written_at.is_none_or(|at| now >= at + self.gather)
    }
}

fn carrier(pipeline: &Pipeline, size: u64, layout: &Layout) -> Carrier {
    let hop = || Carrier::Hop(pipeline.hop().as_nanos() as u64);
    match pipeline.network() {
        Network::Ideal => hop(),
        Network::Links(links) => Carrier::Links(LinksState {
            cost: links.cost(size),
            gather: links.gather().as_nanos() as u64,
            gather_count: (links.gather_bytes() / size.max(1)).max(1),
            links: vec![Link::default(); layout.link_count()],
        }),
        Network::Fabric(fabric) => match Carriage::new(fabric) {
            Some(carriage) => Carrier::Fabric {
                carriage: Box::new(carriage),
                overhead: fabric.overhead().as_nanos() as u64,
                packets: fabric.packets_of(size),
            },
            None => hop(),
        },
    }
}
