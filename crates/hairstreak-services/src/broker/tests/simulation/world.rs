//! `World`: all parties of the simulation, their events, and the faults.

use hairstreak_base::Message;
use hairstreak_testkit::{Life, NetworkEvent, Nodes, Rng, Trace, Wakeup};
use hairstreak_wire::hsn1::RequestId;
use hairstreak_wire::mdp::Version;

use super::client::Client;
use super::ledger::Ledger;
use super::net::{BrokerOutbox, Event, Frames, NOTICE_MAX, Net, Node, PARTY, peer_of};
use super::worker::Worker;
use crate::broker::clients::told_max;
use crate::broker::requests::{RequestRef, RequestState};
use crate::broker::suspects::COMPANY;
use crate::broker::{Broker, Limits, Options};
use crate::gate::OpenGate;

/// Longest time until all work ends without further faults.
const PROGRESS_TIME: u64 = 2_000_000;
/// Interval of workers' reports and heartbeats: well within a heartbeat of the broker, which is 2500.
const TICK: u64 = 800;

/// Kind of simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only workers with a memory.
    Hsn1,
    /// Plain workers too.
    Mixed,
    /// Limits that are reached, and slow workers.
    Tight,
    /// No faults except requests that kill their workers.
    Deadly,
}

pub struct World {
    pub net: Net,
    kind: Kind,
    options: Options,
    nodes: Nodes<Node>,
    /// Running brokers, with the next deadline of each.
    brokers: Vec<Option<(Broker, Wakeup)>>,
    clients: Vec<Client>,
    workers: Vec<Option<Worker>>,
    ledger: Ledger,
    run_time_max: u64,
    fault_interval: u64,
    is_calm: bool,
}

impl World {
    pub fn new(kind: Kind, seed: u64, trace: Trace) -> World {
        let mut rng = Rng::with_seed(seed);
        let deliveries_max = if kind == Kind::Deadly { rng.u16(3..8) } else { u16::MAX };
        let limits = Limits { deliveries_max, queue_age_max_ms: 10_000_000, ..Limits::default() };
        let mut options = Options { limits, ..Options::default() };
        options.limits.plain_capacity = [1, 2, 7][rng.usize(..3)];
        if kind == Kind::Tight {
            options.limits = Limits {
                queue_count_max: rng.usize(1..20),
                queue_bytes_max: rng.usize(1_000..10_000),
                queue_age_max_ms: rng.u32(100..20_000),
                processing_max_ms: rng.u32(100..2_000),
                deliveries_max: rng.u16(1..4),
                plain_capacity: options.limits.plain_capacity,
            };
            options.clients_max = rng.usize(1..6);
            options.workers_max = rng.usize(1..5);
            options.open_per_client_max = rng.usize(2..40);
            options.open_max = rng.usize(2..60);
            options.bytes_max = rng.usize(2_000..30_000);
            options.replies_bytes_max = rng.usize(0..2_000);
            options.client_absence_max_ms = rng.u32(100..5_000);
        }
        let (requests, window) = (rng.u64(1..60), rng.usize(1..30));
        let cancels = if rng.bool() && kind != Kind::Deadly { rng.u64(..30) } else { 0 };
        let clients = (0..rng.usize(1..5)).map(|index| {
            let mut client = Client::new(index, requests, window);
            client.cancels = cancels;
            client
        });
        let clients: Vec<Client> = clients.collect();
        // With two brokers, a suspect that is alone from one broker may meet requests from the other.
        let broker_count = if kind == Kind::Deadly { 1 } else { rng.usize(1..=2) };
        let worker_count = rng.usize(1..5);
        let run_time_max = [5, 200, 3_000][rng.usize(..3)];
        let fault_interval = rng.u64(50..3_000);
        let calm_at = if kind == Kind::Deadly { 0 } else { rng.u64(1..20_000) };
        let mut net = Net::new(rng, trace);
        if net.sim.rng.bool() {
            net.room_max = 3;
        }
        for index in 0..broker_count {
            net.sim.within(500, Event::Start(Node::Broker(index)));
        }
        (0..clients.len()).for_each(|index| net.sim.within(1_000, Event::Start(Node::Client(index))));
        (0..worker_count).for_each(|index| net.sim.within(1_000, Event::Start(Node::Worker(index))));
        net.sim.within(fault_interval, Event::Fault);
        net.sim.at(calm_at, Event::Calm);
        let brokers = (0..broker_count).map(|_| None).collect();
        let workers = (0..worker_count).map(|_| None).collect();
        let ledger = Ledger::default();
        World {
            net,
            kind,
            options,
            nodes: Nodes::new(),
            brokers,
            clients,
            workers,
            ledger,
            run_time_max,
            fault_interval,
            is_calm: false,
        }
    }

    /// Runs until all work is done and all messages are delivered. Panics if a check fails.
    pub fn run(&mut self) {
        let mut deadline = u64::MAX;
        while !self.is_calm || !self.is_done() {
            let event =
                self.net.sim.next().unwrap_or_else(|| panic!("nothing happens any more: {}", self.state()));
            if self.is_calm && deadline == u64::MAX {
                deadline = self.net.sim.now() + PROGRESS_TIME;
            }
            assert!(self.net.sim.now() < deadline, "no end in sight: {}", self.state());
            self.handle(event);
        }
        self.net.sim.note(|| "all is answered".into());
        // Late replies and notices arrive, and absent clients are forgotten.
        let quiet_at = self.net.sim.now() + 120_000;
        while self.net.sim.now() < quiet_at
            && let Some(event) = self.net.sim.next()
        {
            self.handle(event);
        }
        for broker in &self.brokers {
            let (broker, _) = broker.as_ref().expect("all brokers live");
            let report = broker.report(self.net.sim.time());
            assert_eq!((report.open, report.open_bytes, report.unread_bytes), (0, 0, 0), "{report:?}");
            for service in report.services {
                // Half of the workers of plain MDP belong to the other broker.
                assert_eq!((service.outstanding, service.queued), (0, 0), "{service:?}");
            }
            assert!(
                broker.stalled.is_empty() && broker.full_workers.is_empty() && broker.holding.count() == 0
            );
        }
        match self.kind {
            Kind::Tight => {}
            Kind::Deadly => {
                let is_one = |id: &RequestId| self.is_deadly(*id);
                assert!(self.ledger.refused.iter().all(is_one), "innocent: {:?}", self.ledger.refused);
                assert!(
                    self.ledger.answered().filter(|id| is_one(id)).all(|id| self.ledger.refused.contains(id))
                );
            }
            Kind::Hsn1 | Kind::Mixed => assert_eq!(self.ledger.refused.len(), 0),
        }
    }

    /// Returns whether the request kills its worker.
    fn is_deadly(&self, id: RequestId) -> bool {
        self.kind == Kind::Deadly && (id.number + u64::from(id.client.0[0])) % 7 == 3
    }

    fn is_done(&self) -> bool {
        self.clients.iter().all(Client::is_done)
    }

    fn state(&self) -> String {
        let clients: Vec<String> = self.clients.iter().map(Client::state).collect();
        let running = self.brokers.iter().flatten();
        let brokers: Vec<_> = running.map(|(broker, _)| broker.report(self.net.sim.time())).collect();
        format!("{clients:#?} {brokers:#?}")
    }

    /// Passes an event to a living broker.
    fn with_broker(&mut self, broker: usize, act: impl FnOnce(&mut Broker, &mut BrokerOutbox<'_>)) {
        let Some((machine, wakeup)) = &mut self.brokers[broker] else { return };
        act(machine, &mut BrokerOutbox { net: &mut self.net, broker });
        check(machine, &self.options);
        let timeout = machine.next_timeout(self.net.sim.time());
        wakeup.arm(&mut self.net.sim, timeout, Event::Timeout(self.nodes.life(Node::Broker(broker))));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Network(NetworkEvent::Arrive { link, end }) => self.arrive(link, end),
            Event::Network(NetworkEvent::Over { link, end }) => self.over(link, end),
            Event::Timeout(life) if self.nodes.is_alive(life) => self.time_out(life.node),
            Event::Done { life, run } if self.nodes.is_alive(life) => self.done(life.node, run),
            Event::Tick(life) if self.nodes.is_alive(life) => {
                if let Node::Worker(index) = life.node
                    && let Some(worker) = &mut self.workers[index]
                {
                    worker.tick(&mut self.net);
                }
                self.net.sim.at(self.net.sim.now() + TICK, Event::Tick(life));
            }
            Event::Connect { life, broker } if self.nodes.is_alive(life) => self.connect(life, broker),
            Event::Timeout(_) | Event::Done { .. } | Event::Tick(_) | Event::Connect { .. } => {}
            Event::Start(node) => self.start(node),
            Event::Fault if self.is_calm => {}
            Event::Fault => {
                self.fail();
                self.net.sim.within(self.fault_interval, Event::Fault);
            }
            Event::Calm => {
                self.is_calm = true;
                self.net.sim.note(|| "nothing goes wrong any more".into());
            }
        }
    }

    fn time_out(&mut self, node: Node) {
        let Node::Broker(index) = node else { return };
        let Some((_, wakeup)) = &mut self.brokers[index] else { return };
        if wakeup.is_due(&self.net.sim) {
            let now = self.net.sim.time();
            self.with_broker(index, |machine, out| {
                if machine.next_timeout(now).is_some_and(|next| next <= now) {
                    machine.handle_timeout(now, out);
                }
            });
        }
    }

    /// Ends a run of a worker, which is done or dies of the request.
    fn done(&mut self, node: Node, run: u64) {
        let Node::Worker(index) = node else { return };
        let doing = self.workers[index].as_ref().and_then(|worker| worker.doing(run));
        if doing.is_some_and(|id| self.is_deadly(id)) {
            self.kill_worker(index);
        } else if let Some(worker) = &mut self.workers[index] {
            worker.done(&mut self.net, run);
        }
    }

    fn start(&mut self, node: Node) {
        let life = self.nodes.start(node);
        match node {
            Node::Broker(index) => {
                let mut id = [index as u8; 16];
                let start = u64::from(life.number) + 1;
                id[..8].copy_from_slice(&(start << 8 | index as u64).to_be_bytes());
                self.brokers[index] =
                    Some((Broker::new(id, self.options.clone(), Box::new(OpenGate)), Wakeup::default()));
                self.net.sim.note(|| format!("broker {index} starts"));
            }
            Node::Client(index) => {
                let broker = index % self.brokers.len();
                self.net.sim.within(NOTICE_MAX, Event::Connect { life, broker });
            }
            Node::Worker(index) => self.start_worker(index, life),
        }
    }

    fn start_worker(&mut self, index: usize, life: Life<Node>) {
        // The first worker serves every broker.
        let is_plain = self.kind != Kind::Hsn1 && index > 0 && self.net.sim.rng.bool();
        let version = is_plain.then(|| [Version::V01, Version::V02][self.net.sim.rng.usize(..2)]);
        let announced = self.net.sim.rng.u32(1..8);
        let capacity = if is_plain { self.options.limits.plain_capacity.into() } else { announced };
        let is_strict = self.kind == Kind::Hsn1;
        self.workers[index] = Some(Worker::new(life, version, capacity, self.run_time_max, is_strict));
        for broker in 0..self.brokers.len() {
            if !is_plain || index % self.brokers.len() == broker {
                self.net.sim.within(NOTICE_MAX, Event::Connect { life, broker });
            }
        }
        self.net.sim.within(TICK, Event::Tick(life));
    }

    fn connect(&mut self, life: Life<Node>, broker: usize) {
        let party = life.node;
        if !self.nodes.is_up(Node::Broker(broker)) {
            // A client goes to the next broker, a worker comes again.
            let is_client = matches!(party, Node::Client(_));
            let next = if is_client { (broker + 1) % self.brokers.len() } else { broker };
            return self.net.sim.at(self.net.sim.now() + 50, Event::Connect { life, broker: next });
        }
        let link = self.net.open(party, broker);
        self.net.sim.note(|| format!("{party:?} connects to broker {broker} by link {link}"));
        if let Node::Client(index) = party {
            (self.clients[index].link, self.clients[index].broker) = (Some(link), broker);
        }
        if let Node::Worker(index) = party
            && let Some(worker) = &mut self.workers[index]
        {
            worker.begin(&mut self.net, broker, link);
        }
        let uses_hsn1 = self.worker(party).is_none_or(|worker| worker.version.is_none());
        self.with_broker(broker, |machine, out| machine.handle_peer(&peer_of(link), uses_hsn1, out));
    }

    fn worker(&self, node: Node) -> Option<&Worker> {
        match node {
            Node::Worker(index) => self.workers[index].as_ref(),
            _ => None,
        }
    }

    fn arrive(&mut self, link: usize, end: usize) {
        let Net { sim, links, .. } = &mut self.net;
        if links.reads_now(sim, link, end)
            && let Some(frames) = links.receive(sim, link, end)
        {
            let [broker, party] = links[link].ends;
            let (from, to) = if end == PARTY { (broker, party) } else { (party, broker) };
            sim.note(|| format!("{from:?} to {to:?}: {}", super::super::line_of(&frames)));
            self.bring(to, link, &frames);
        }
    }

    fn bring(&mut self, node: Node, link: usize, frames: &Frames) {
        let begins_again = match node {
            Node::Broker(index) => {
                let frames = frames.iter().map(Vec::as_slice);
                let message = Message::from_frames(std::iter::once(&peer_of(link)[..]).chain(frames));
                let now = self.net.sim.time();
                self.with_broker(index, |machine, out| machine.handle_message(now, message, out));
                false
            }
            Node::Client(index) => self.clients[index].take(&mut self.net, &mut self.ledger, frames),
            Node::Worker(index) => {
                let Some(worker) = &mut self.workers[index] else { return };
                worker.take(&mut self.net, &mut self.ledger, link, frames)
            }
        };
        if begins_again {
            self.net.cut(link);
        }
    }

    /// Handles an end that notices the end of its link.
    fn over(&mut self, link: usize, end: usize) {
        if !self.net.links[link].is_open(end) {
            return;
        }
        self.net.links.close(&mut self.net.sim, link, end);
        let node = self.net.links[link].ends[end];
        let broker = match node {
            Node::Broker(index) => {
                let now = self.net.sim.time();
                return self.with_broker(index, |machine, out| machine.handle_gone(now, &peer_of(link), out));
            }
            Node::Client(index) => {
                self.clients[index].is_lost();
                self.net.sim.rng.usize(..self.brokers.len())
            }
            Node::Worker(index) => {
                let Node::Broker(broker) = self.net.links[link].ends[1 - end] else { return };
                let Some(worker) = &mut self.workers[index] else { return };
                worker.is_cut(&mut self.net, broker);
                worker.tick(&mut self.net);
                broker
            }
        };
        let life = self.nodes.life(node);
        self.net.sim.within(NOTICE_MAX, Event::Connect { life, broker });
    }

    fn fail(&mut self) {
        let up = self.net.up();
        match self.net.sim.rng.u32(..10) {
            0 => self.kill_broker(),
            1 | 2 => {
                let index = self.net.sim.rng.usize(..self.workers.len());
                self.kill_worker(index);
            }
            3..=5 if !up.is_empty() => {
                let link = up[self.net.sim.rng.usize(..up.len())];
                let party = self.net.links[link].ends[PARTY];
                if let Node::Worker(_) = party {
                    self.ledger.loses(self.nodes.life(party), self.net.sim.now() + NOTICE_MAX);
                }
                self.net.cut(link);
            }
            _ if !up.is_empty() => {
                let link = up[self.net.sim.rng.usize(..up.len())];
                // A worker that reads its requests seconds later cannot report them in time.
                let is_worker = matches!(self.net.links[link].ends[PARTY], Node::Worker(_));
                let longest = if is_worker { NOTICE_MAX } else { 5_000 };
                let until = self.net.sim.now() + self.net.sim.rng.u64(..longest);
                self.net.links.pause(link, PARTY, until);
                self.net.sim.note(|| format!("link {link} is not read until {until}"));
            }
            _ => {}
        }
    }

    fn kill_broker(&mut self) {
        let broker = self.net.sim.rng.usize(..self.brokers.len());
        if self.brokers[broker].take().is_some() {
            self.net.sim.note(|| format!("broker {broker} dies"));
            self.kill(Node::Broker(broker));
        }
    }

    fn kill_worker(&mut self, index: usize) {
        if let Some(worker) = self.workers[index].take() {
            self.ledger.dies(worker.life, self.net.sim.now() + NOTICE_MAX);
            self.net.sim.note(|| format!("worker {index} dies"));
            self.kill(Node::Worker(index));
        }
    }

    /// Kills the node, which loses all its state and starts again later.
    fn kill(&mut self, node: Node) {
        self.nodes.kill(node);
        self.net.links.crash(&mut self.net.sim, node);
        self.net.sim.within(1_000, Event::Start(node));
    }
}

/// Checks that no state outgrows its limits, and that the counts are right.
fn check(broker: &Broker, options: &Options) {
    assert!(broker.clients.len() <= options.clients_max);
    assert!(broker.workers.len() <= options.workers_max);
    let counts = broker.clients.counts();
    assert!(counts.own <= options.open_max && counts.told <= told_max(options));
    let one = 2_000;
    assert!(broker.requests.bytes + broker.clients.backlog_bytes <= options.bytes_max + one);
    for (reference, worker) in broker.workers.all() {
        let is_dispatched = |found: &RequestRef| {
            let state = broker.requests.find(*found).map(|request| request.state);
            matches!(state, Some(RequestState::Dispatched { worker, .. }) if worker == reference)
        };
        let has = worker.has.iter().filter(is_dispatched);
        let mut has: Vec<usize> = has.map(|found| found.key).collect();
        has.sort_unstable();
        has.dedup();
        assert_eq!(has.len(), worker.has.count(), "{worker:?}");
        assert_eq!(worker.outstanding as usize, has.len() + worker.overdue.len(), "{worker:?}");
        let steps = has.iter().filter_map(|key| broker.requests.get(*key).and_then(|r| r.suspicion));
        let mut suspects = [0; COMPANY.len()];
        steps.for_each(|step| suspects[step] += 1);
        assert_eq!(worker.suspects, suspects, "{worker:?}");
    }
    for (index, service) in broker.services.all() {
        assert!(service.queued_count() <= service.open_count);
        let workers = broker.workers.all().filter(|(_, worker)| worker.service == index);
        assert_eq!(workers.filter(|(_, worker)| worker.has_room()).count(), service.with_room_count());
    }
}
