//! `World`: all parties, what happens to them, and what goes wrong.

use fastrand::Rng;
use hairstreak_base::Message;
use hairstreak_wire::mdp::Version;
use hairstreak_wire::numbered::RequestId;

use super::client::Client;
use super::ledger::Ledger;
use super::net::{BrokerOutbox, Event, Frames, Net, Party};
use super::worker::Worker;
use crate::service::clients::told_max;
use crate::service::requests::{RequestRef, RequestState};
use crate::service::suspects::COMPANY;
use crate::service::{Broker, Limits, Options};

/// How long everything may take once nothing goes wrong any more.
const PROGRESS_TIME: u64 = 2_000_000;
/// How often workers say what they have, or that they live: well within a heartbeat, which is 2500.
const TICK: u64 = 800;
/// How long it takes to notice that a link is over, and to come back.
const NOTICE_MAX: u64 = 300;

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Workers with a memory only.
    Numbered,
    /// Plain workers too.
    Mixed,
    /// Limits that are reached, and slow workers.
    Tight,
    /// Nothing goes wrong, but that some requests kill the worker that does them.
    Deadly,
}

pub struct World {
    pub net: Net,
    kind: Kind,
    options: Options,
    /// Those that run, and how often each was started.
    brokers: Vec<(Option<Broker>, u32)>,
    clients: Vec<Client>,
    workers: Vec<(Option<Worker>, u32)>,
    ledger: Ledger,
    run_time_max: u64,
    fault_interval: u64,
    is_calm: bool,
}

impl World {
    pub fn new(kind: Kind, seed: u64, is_traced: bool) -> World {
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
        // What travels alone to a worker of two brokers may meet what the other one gave it.
        let broker_count = if kind == Kind::Deadly { 1 } else { rng.usize(1..=2) };
        let worker_count = rng.usize(1..5);
        let run_time_max = [5, 200, 3_000][rng.usize(..3)];
        let fault_interval = rng.u64(50..3_000);
        let calm_at = if kind == Kind::Deadly { 0 } else { rng.u64(1..20_000) };
        let mut net = Net::new(rng, is_traced);
        if net.rng.bool() {
            net.room_max = 3;
        }
        for index in 0..broker_count {
            net.within(500, Event::StartBroker(index));
        }
        (0..clients.len()).for_each(|index| net.within(1_000, Event::Start(Party::Client(index))));
        (0..worker_count).for_each(|index| net.within(1_000, Event::Start(Party::Worker(index))));
        net.within(fault_interval, Event::Fault);
        net.at(calm_at, Event::Calm);
        let brokers = (0..broker_count).map(|_| (None, 0)).collect();
        let workers = (0..worker_count).map(|_| (None, 0)).collect();
        let ledger = Ledger::default();
        World {
            net,
            kind,
            options,
            brokers,
            clients,
            workers,
            ledger,
            run_time_max,
            fault_interval,
            is_calm: false,
        }
    }

    /// Until all is done, and quiet. Panics when something does not hold.
    pub fn run(&mut self) {
        let mut deadline = u64::MAX;
        while !self.is_calm || !self.is_done() {
            let event =
                self.net.next().unwrap_or_else(|| panic!("nothing happens any more: {}", self.state()));
            if self.is_calm && deadline == u64::MAX {
                deadline = self.net.now + PROGRESS_TIME;
            }
            assert!(self.net.now < deadline, "no end in sight: {}", self.state());
            self.handle(event);
        }
        self.net.note(|| "all is answered".into());
        // Late answers and notices come, and those that are gone are given up.
        let quiet_at = self.net.now + 120_000;
        while self.net.now < quiet_at
            && let Some(event) = self.net.next()
        {
            self.handle(event);
        }
        for (broker, _) in &self.brokers {
            let broker = broker.as_ref().expect("all brokers live");
            let report = broker.report(self.net.time());
            assert_eq!((report.open, report.open_bytes, report.unread_bytes), (0, 0, 0), "{report:?}");
            for service in report.services {
                // Half of the workers of plain MDP are the other broker's.
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
            Kind::Numbered | Kind::Mixed => assert_eq!(self.ledger.refused.len(), 0),
        }
    }

    /// Whether the worker that does it dies of it.
    fn is_deadly(&self, id: RequestId) -> bool {
        self.kind == Kind::Deadly && (id.number + u64::from(id.client.0[0])) % 7 == 3
    }

    fn is_done(&self) -> bool {
        self.clients.iter().all(Client::is_done)
    }

    fn state(&self) -> String {
        let clients: Vec<String> = self.clients.iter().map(Client::state).collect();
        let brokers =
            self.brokers.iter().map(|(broker, _)| broker.as_ref().map(|b| b.report(self.net.time())));
        format!("{clients:#?} {:#?}", brokers.collect::<Vec<_>>())
    }

    /// Something happens to a broker that lives.
    fn with_broker(&mut self, broker: usize, act: impl FnOnce(&mut Broker, &mut BrokerOutbox<'_>)) {
        let (Some(machine), life) = &mut self.brokers[broker] else { return };
        let life = *life;
        act(machine, &mut BrokerOutbox { net: &mut self.net, broker });
        check(machine, &self.options);
        if let Some(next) = machine.next_timeout(self.net.time()) {
            let next = (next.as_millis() as u64).max(self.net.now + 1);
            self.net.at(next, Event::BrokerTimeout { broker, life });
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::ToBroker { link, frames } => self.bring_to_broker(link, &frames),
            Event::ToParty { link, frames } => self.bring_to_party(link, &frames),
            Event::BrokerNotice { link } => {
                let Some((broker, life)) =
                    self.net.links.get(&link).map(|found| (found.broker, found.broker_life))
                else {
                    return;
                };
                if self.brokers[broker].1 == life {
                    let now = self.net.time();
                    self.with_broker(broker, |machine, out| {
                        machine.handle_gone(now, &link.to_be_bytes(), out)
                    });
                }
            }
            Event::PartyNotice { link } => self.party_notice(link),
            Event::BrokerTimeout { broker, life } => {
                // One of several that were asked for is enough.
                let now = self.net.time();
                let is_due = |machine: &Broker| machine.next_timeout(now).is_some_and(|next| next <= now);
                if self.brokers[broker].1 == life && self.brokers[broker].0.as_ref().is_some_and(is_due) {
                    self.with_broker(broker, |machine, out| machine.handle_timeout(now, out));
                }
            }
            Event::StartBroker(broker) => {
                let (machine, life) = &mut self.brokers[broker];
                *life += 1;
                let mut id = [broker as u8; 16];
                id[..8].copy_from_slice(&(u64::from(*life) << 8 | broker as u64).to_be_bytes());
                *machine = Some(Broker::new(id, self.options.clone()));
                self.net.note(|| format!("broker {broker} starts"));
            }
            Event::Start(party) => self.start(party),
            Event::Connect { party, life, broker } => self.connect(party, life, broker),
            Event::Done { worker, life, run } => {
                let (Some(found), started) = &mut self.workers[worker] else { return };
                if *started != life {
                } else if let Some(id) = found.doing(run)
                    && self.is_deadly(id)
                {
                    self.kill_worker(worker);
                } else if let (Some(found), _) = &mut self.workers[worker] {
                    found.done(&mut self.net, run);
                }
            }
            Event::Tick { party: Party::Worker(index), life } => {
                if let (Some(worker), started) = &mut self.workers[index]
                    && *started == life
                {
                    worker.tick(&mut self.net);
                    self.net.at(self.net.now + TICK, Event::Tick { party: Party::Worker(index), life });
                }
            }
            Event::Tick { .. } => {}
            Event::Fault if self.is_calm => {}
            Event::Fault => {
                self.fail();
                self.net.within(self.fault_interval, Event::Fault);
            }
            Event::Calm => {
                self.is_calm = true;
                self.net.note(|| "nothing goes wrong any more".into());
            }
        }
    }

    fn start(&mut self, party: Party) {
        let strict = self.kind == Kind::Numbered;
        match party {
            Party::Client(index) => {
                let broker = index % self.brokers.len();
                self.net.within(NOTICE_MAX, Event::Connect { party, life: 0, broker });
            }
            Party::Worker(index) => {
                // The first one serves every broker.
                let is_plain = self.kind != Kind::Numbered && index > 0 && self.net.rng.bool();
                let version = is_plain.then(|| [Version::V01, Version::V02][self.net.rng.usize(..2)]);
                let announced = self.net.rng.u32(1..8);
                let capacity = if is_plain { self.options.limits.plain_capacity.into() } else { announced };
                let (worker, life) = &mut self.workers[index];
                *life += 1;
                let life = *life;
                *worker = Some(Worker::new((index, life), version, capacity, self.run_time_max, strict));
                for broker in 0..self.brokers.len() {
                    if !is_plain || index % self.brokers.len() == broker {
                        self.net.within(NOTICE_MAX, Event::Connect { party, life, broker });
                    }
                }
                self.net.within(TICK, Event::Tick { party, life });
            }
        }
    }

    fn is_alive(&self, party: Party, life: u32) -> bool {
        match party {
            Party::Client(_) => true,
            Party::Worker(index) => self.workers[index].0.is_some() && self.workers[index].1 == life,
        }
    }

    fn connect(&mut self, party: Party, life: u32, broker: usize) {
        if !self.is_alive(party, life) {
            return;
        }
        if self.brokers[broker].0.is_none() {
            // A client goes to the next one, a worker comes again.
            let next =
                if matches!(party, Party::Client(_)) { (broker + 1) % self.brokers.len() } else { broker };
            return self.net.at(self.net.now + 50, Event::Connect { party, life, broker: next });
        }
        let link = self.net.open(party, life, broker, self.brokers[broker].1);
        self.net.note(|| format!("{party:?} connects to broker {broker} by link {link}"));
        let is_numbered = match party {
            Party::Client(index) => {
                (self.clients[index].link, self.clients[index].broker) = (Some(link), broker);
                true
            }
            Party::Worker(index) => {
                let (Some(worker), _) = &mut self.workers[index] else { return };
                worker.begin(&mut self.net, broker, link);
                worker.version.is_none()
            }
        };
        self.with_broker(broker, |machine, out| machine.handle_peer(&link.to_be_bytes(), is_numbered, out));
    }

    fn bring_to_broker(&mut self, link: u32, frames: &Frames) {
        let Some(found) = self.net.links.get(&link).filter(|link| link.is_up) else { return };
        let broker = found.broker;
        let message = Message::from_frames(
            std::iter::once(&link.to_be_bytes()[..]).chain(frames.iter().map(Vec::as_slice)),
        );
        let party = found.party;
        self.net.note(|| format!("{party:?} to broker {broker}: {}", super::super::line_of(frames)));
        let now = self.net.time();
        self.with_broker(broker, |machine, out| machine.handle_message(now, message, out));
    }

    fn bring_to_party(&mut self, link: u32, frames: &Frames) {
        let Some(found) = self.net.links.get(&link).filter(|link| link.is_up) else { return };
        let (party, life, paused, broker) = (found.party, found.life, found.paused_until, found.broker);
        if paused > self.net.now {
            return self.net.at(paused, Event::ToParty { link, frames: frames.clone() });
        }
        self.net.has_arrived(link);
        if !self.is_alive(party, life) {
            return;
        }
        self.net.note(|| format!("broker {broker} to {party:?}: {}", super::super::line_of(frames)));
        let begins_again = match party {
            Party::Client(index) => self.clients[index].take(&mut self.net, &mut self.ledger, frames),
            Party::Worker(index) => {
                let (Some(worker), _) = &mut self.workers[index] else { return };
                worker.take(&mut self.net, &mut self.ledger, link, frames)
            }
        };
        if begins_again {
            self.net.cut(link, NOTICE_MAX);
        }
    }

    fn party_notice(&mut self, link: u32) {
        let Some(found) = self.net.links.get(&link) else { return };
        let (party, life, broker) = (found.party, found.life, found.broker);
        if !self.is_alive(party, life) {
            return;
        }
        match party {
            Party::Client(index) => {
                self.clients[index].is_lost();
                let next = self.net.rng.usize(..self.brokers.len());
                self.net.within(NOTICE_MAX, Event::Connect { party, life, broker: next });
            }
            Party::Worker(index) => {
                let (Some(worker), _) = &mut self.workers[index] else { return };
                worker.is_cut(&mut self.net, broker);
                worker.tick(&mut self.net);
                self.net.within(NOTICE_MAX, Event::Connect { party, life, broker });
            }
        }
    }

    fn fail(&mut self) {
        let up = self.net.up();
        match self.net.rng.u32(..10) {
            0 => self.kill_broker(),
            1 | 2 => {
                let index = self.net.rng.usize(..self.workers.len());
                self.kill_worker(index);
            }
            3..=5 if !up.is_empty() => {
                let link = up[self.net.rng.usize(..up.len())];
                let found = &self.net.links[&link];
                if let Party::Worker(index) = found.party {
                    self.ledger.loses((index, found.life), self.net.now + NOTICE_MAX);
                }
                self.net.cut(link, NOTICE_MAX);
            }
            _ if !up.is_empty() => {
                let link = up[self.net.rng.usize(..up.len())];
                // A worker that reads what it was given seconds later cannot tell in time that it has it.
                let is_worker = matches!(self.net.links[&link].party, Party::Worker(_));
                let longest = if is_worker { NOTICE_MAX } else { 5_000 };
                let until = self.net.now + self.net.rng.u64(..longest);
                if let Some(link) = self.net.links.get_mut(&link) {
                    link.paused_until = until;
                }
                self.net.note(|| format!("link {link} is not read until {until}"));
            }
            _ => {}
        }
    }

    fn kill_broker(&mut self) {
        let broker = self.net.rng.usize(..self.brokers.len());
        if self.brokers[broker].0.take().is_none() {
            return;
        }
        self.net.note(|| format!("broker {broker} dies"));
        for link in self.net.up() {
            if self.net.links[&link].broker == broker {
                self.net.cut(link, NOTICE_MAX);
            }
        }
        self.net.within(1_000, Event::StartBroker(broker));
    }

    fn kill_worker(&mut self, index: usize) {
        let Some(worker) = self.workers[index].0.take() else { return };
        self.ledger.dies(worker.life, self.net.now + NOTICE_MAX);
        self.net.note(|| format!("{:?} dies", worker.life));
        worker.links.values().for_each(|link| self.net.cut(*link, NOTICE_MAX));
        self.net.within(1_000, Event::Start(worker.party()));
    }
}

/// Nothing outgrows its limits, and what is counted is there.
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
