//! `World`: all parties, their events, and the faults.

use hairstreak_testkit::{Life, NetworkEvent, Nodes, Rng, Trace};

use crate::endpoint::LinkError;
use crate::ledger::Ledger;
use crate::net::{Event, Load, Net, Party};
use crate::scenario::{Fault, Kind, Scenario};
use crate::sink::Sink;
use crate::ventilator::Ventilator;
use crate::worker::{Fate, Worker};

/// The time limit of the run after the last fault.
const PROGRESS_TIME: u64 = 60_000_000;
/// The sleep of a paused party.
const PAUSE_MAX: u64 = 500_000;
const WORKER_COUNT_MAX: usize = 8;

pub struct World {
    pub net: Net,
    ledger: Ledger,
    ventilator: Ventilator,
    workers: Vec<Option<Worker>>,
    sink: Option<Sink>,
    nodes: Nodes<Party>,
}

impl World {
    pub fn new(kind: Kind, seed: u64, trace: Trace) -> World {
        let mut rng = Rng::with_seed(seed);
        let scenario = Scenario::draw(kind, &mut rng);
        let mut net = Net::new(scenario.clone(), rng, trace);
        net.sim.note(|| format!("{scenario:?}"));
        for slot in 0..scenario.worker_count {
            net.sim.within(scenario.notice_max, Event::Start(Party::Worker(slot)));
        }
        net.sim.within(scenario.notice_max, Event::Start(Party::Sink));
        let mut nodes = Nodes::new();
        let life = nodes.start(Party::Ventilator);
        net.sim.at(0, Event::GoOn { life, turn: 0 });
        net.sim.at(scenario.floor_interval, Event::Floor);
        net.sim.within(scenario.fault_interval_max, Event::Fault);
        net.sim.at(scenario.calm_at, Event::Calm);
        World {
            ledger: Ledger::new(&scenario),
            ventilator: Ventilator::new(life, &scenario),
            workers: (0..scenario.worker_count).map(|_| None).collect(),
            sink: None,
            nodes,
            net,
        }
    }

    /// Runs until all is done. Panics if a guarantee is broken.
    pub fn run(&mut self) {
        let deadline = self.net.scenario.calm_at + PROGRESS_TIME;
        while !self.is_done() {
            match self.net.sim.next() {
                Some(event) if self.net.sim.now() <= deadline => self.handle(event),
                Some(_) => panic!("no end in sight, {}", self.state()),
                None => panic!("nothing happens any more, {}", self.state()),
            }
        }
        self.net.sim.note(|| "all is done".into());
    }

    fn is_done(&self) -> bool {
        // Tasks invented by a hostile ventilator are never settled.
        let is_hostile = self.net.scenario.kind == Kind::Hostile;
        let have_left = is_hostile || self.workers.iter().all(Option::is_none);
        self.ledger.is_finished && self.ventilator.has_ended() && have_left
    }

    fn state(&self) -> String {
        let workers = self.workers.iter().enumerate();
        let left: Vec<_> = workers.filter_map(|(slot, worker)| worker.as_ref().map(|_| slot)).collect();
        let unsettled = self.ventilator.tasks.unsettled_count();
        format!(
            "{unsettled} tasks unsettled, sink finished {}, workers left {left:?}",
            self.ledger.is_finished
        )
    }

    fn handle(&mut self, event: Event) {
        let party = self.party_of(event);
        let until = party.map_or(0, |party| self.nodes.paused_until(party));
        if until > self.net.sim.now() {
            return self.net.sim.at(until, event);
        }
        match event {
            Event::Network(NetworkEvent::Arrive { link, end }) => self.arrive(link, end),
            Event::Network(NetworkEvent::Over { link, end }) => self.over(link, end),
            Event::Connect { life, load } => self.connect(life, load),
            Event::Start(party) => self.start(party),
            Event::GoOn { life, turn } if self.nodes.is_alive(life) => {
                self.on_turn(life.node, turn);
                self.go_on(life.node);
            }
            Event::Tell(life) if self.nodes.is_alive(life) => self.tell(life.node),
            Event::GoOn { .. } | Event::Tell(_) => {}
            Event::Floor => {
                self.ventilator.tell_floor(&mut self.net);
                if !self.ventilator.has_ended() {
                    self.net.sim.at(self.net.sim.now() + self.net.scenario.floor_interval, Event::Floor);
                }
            }
            Event::Fault if self.net.is_calm => {}
            Event::Fault => {
                self.fail();
                self.net.sim.within(self.net.scenario.fault_interval_max, Event::Fault);
            }
            Event::Calm => self.calm(),
        }
    }

    fn party_of(&self, event: Event) -> Option<Party> {
        match event {
            Event::Network(event) => {
                let (link, end) = event.place();
                Some(self.net.links[link].ends[end])
            }
            Event::Connect { life, .. } | Event::GoOn { life, .. } | Event::Tell(life) => Some(life.node),
            Event::Floor => Some(Party::Ventilator),
            Event::Start(_) | Event::Fault | Event::Calm => None,
        }
    }

    fn worker(&mut self, party: Party) -> Option<&mut Worker> {
        match party {
            Party::Worker(slot) => self.workers[slot].as_mut(),
            _ => None,
        }
    }

    fn on_turn(&mut self, party: Party, turn: u32) {
        if let (Party::Sink, Some(sink)) = (party, &mut self.sink) {
            sink.on_turn(turn);
        }
        if let Some(worker) = self.worker(party) {
            worker.on_turn(turn);
        }
    }

    fn tell(&mut self, party: Party) {
        match party {
            Party::Ventilator => {}
            Party::Worker(slot) => {
                if let Some(worker) = &mut self.workers[slot] {
                    worker.tell(&mut self.net);
                }
            }
            Party::Sink => {
                if let Some(sink) = &mut self.sink {
                    sink.tell(&mut self.net);
                }
            }
        }
    }

    fn arrive(&mut self, link: usize, end: usize) {
        if !self.net.links[link].is_open(end) {
            return;
        }
        let bytes = self.net.links.read(&self.net.sim, link, end);
        if let Err(error) = self.receive(link, end, &bytes) {
            self.net.sim.note(|| format!("link {link} end {end}: {error}"));
            assert!(self.net.links[link].label.is_tampered, "link {link} ends with {error}");
            self.over(link, end);
            return;
        }
        // The stream has room again.
        if self.net.links[link].is_open(1 - end) {
            self.flush(link, 1 - end);
        }
        self.go_on(self.net.links[link].ends[end]);
    }

    fn receive(&mut self, link: usize, end: usize, bytes: &[u8]) -> Result<(), LinkError> {
        let (party, net) = (self.net.links[link].ends[end], &mut self.net);
        match (net.links[link].label.load, party) {
            (Load::Control, Party::Ventilator) => self.ventilator.hear(net, link, bytes),
            (_, Party::Ventilator) => self.ventilator.tasks.receive(net, link, bytes).1,
            (load, Party::Worker(slot)) => match &mut self.workers[slot] {
                Some(worker) if load == Load::Tasks => worker.tasks.receive(net, link, bytes),
                Some(worker) => worker.receive_settled(net, link, bytes),
                None => Ok(()),
            },
            (load, _) => match &mut self.sink {
                Some(sink) if load == Load::Control => sink.receive_control(bytes),
                Some(sink) if load == Load::Reports => sink.reports.receive(net, link, bytes),
                Some(sink) => sink.results.receive(net, link, bytes),
                None => Ok(()),
            },
        }
    }

    fn flush(&mut self, link: usize, end: usize) {
        let (party, net) = (self.net.links[link].ends[end], &mut self.net);
        match (net.links[link].label.load, party) {
            (Load::Control, Party::Ventilator) => self.ventilator.flush_control(net, link),
            (_, Party::Ventilator) => self.ventilator.tasks.flush(net, link),
            (load, Party::Worker(slot)) => match &mut self.workers[slot] {
                Some(worker) if load == Load::Tasks => worker.tasks.flush(net, link),
                Some(worker) => worker.results.flush(net, link),
                None => {}
            },
            (load, _) => match &mut self.sink {
                Some(sink) if load == Load::Control => sink.flush_control(net),
                Some(sink) if load == Load::Reports => sink.reports.flush(net, link),
                Some(sink) => sink.results.flush(net, link),
                None => {}
            },
        }
    }

    /// An end notices that its link has ended.
    fn over(&mut self, link: usize, end: usize) {
        if !self.net.links[link].is_open(end) {
            return;
        }
        self.net.sim.note(|| format!("link {link} end {end}: over"));
        self.net.links.close(&mut self.net.sim, link, end);
        let (load, party) = (self.net.links[link].label.load, self.net.links[link].ends[end]);
        match (load, party) {
            (Load::Control, Party::Ventilator) => self.ventilator.lose_control(link),
            (_, Party::Ventilator) => self.ventilator.tasks.lose(link),
            (_, Party::Worker(slot)) => {
                if let Some(worker) = &mut self.workers[slot] {
                    if load == Load::Tasks { worker.tasks.lose(link) } else { worker.results.lose(link) }
                }
            }
            (_, Party::Sink) => {
                if let Some(sink) = &mut self.sink {
                    match load {
                        Load::Control => sink.lose_control(),
                        Load::Reports => sink.reports.lose(link),
                        _ => sink.results.lose(link),
                    }
                }
            }
        }
        let connects =
            matches!((load, party), (_, Party::Worker(_)) | (Load::Control | Load::Reports, Party::Sink));
        if connects && self.nodes.is_up(party) {
            self.connect_soon(party, load);
        }
        self.go_on(party);
    }

    fn connect_soon(&mut self, party: Party, load: Load) {
        let event = Event::Connect { life: self.nodes.life(party), load };
        self.net.sim.within(self.net.scenario.notice_max, event);
    }

    fn connect(&mut self, life: Life<Party>, load: Load) {
        let party = life.node;
        if !self.nodes.is_alive(life) {
            return;
        }
        let target = if load == Load::Results { Party::Sink } else { Party::Ventilator };
        let until = self.nodes.paused_until(target);
        if !self.nodes.is_up(target) || until > self.net.sim.now() {
            let again =
                until.max(self.net.sim.now() + 1 + self.net.sim.rng.u64(0..=self.net.scenario.notice_max));
            return self.net.sim.at(again, Event::Connect { life, load });
        }
        let parties = if load == Load::Results { [party, target] } else { [target, party] };
        let link = self.net.connect(load, parties);
        let net = &mut self.net;
        match load {
            Load::Tasks | Load::Reports => self.ventilator.tasks.attach(net, link),
            Load::Control => self.ventilator.attach_control(link),
            Load::Results => self.sink.iter_mut().for_each(|sink| sink.results.attach(net, link)),
        }
        match (load, party) {
            (Load::Control, _) => self.sink.iter_mut().for_each(|sink| sink.attach_control(net, link)),
            (Load::Reports, _) => self.sink.iter_mut().for_each(|sink| sink.reports.attach(net, link)),
            (_, Party::Worker(slot)) => self.workers[slot].iter_mut().for_each(|worker| match load {
                Load::Tasks => worker.tasks.attach(net, link),
                _ => worker.results.attach(net, link),
            }),
            _ => {}
        }
    }

    fn start(&mut self, party: Party) {
        if self.nodes.is_up(party) {
            return;
        }
        let life = self.nodes.start(party);
        self.net.sim.note(|| format!("{party:?} starts, life {}", life.number));
        match party {
            Party::Ventilator => {}
            Party::Worker(slot) => {
                self.workers[slot] = Some(Worker::new(life, &self.net.scenario));
                self.connect_soon(party, Load::Tasks);
                self.connect_soon(party, Load::Results);
            }
            Party::Sink => {
                self.sink = Some(Sink::new(life, &self.net.scenario, &self.ledger.stored));
                self.connect_soon(party, Load::Control);
                self.connect_soon(party, Load::Reports);
            }
        }
    }

    fn go_on(&mut self, party: Party) {
        let (net, ledger) = (&mut self.net, &mut self.ledger);
        match party {
            Party::Ventilator => self.ventilator.go_on(net, ledger),
            Party::Worker(slot) => {
                let fate =
                    self.workers[slot].as_mut().map_or(Fate::Lives, |worker| worker.go_on(net, ledger));
                match fate {
                    Fate::Lives => {}
                    Fate::Dies => self.crash(party),
                    Fate::Leaves => self.leave(party),
                }
            }
            Party::Sink => {
                let Some(sink) = &mut self.sink else { return };
                if sink.go_on(net, ledger)
                    && let Some((count, rejected)) = sink.ended
                    && !ledger.is_finished
                {
                    let sends = &self.ventilator.tasks.sends;
                    let counts =
                        (sink.life.number == 0).then(|| (sink.result_count(), sink.rejected_count()));
                    ledger.finish(count, rejected, counts, sends);
                }
            }
        }
    }

    /// The party crashes with all its state, and comes back.
    fn crash(&mut self, party: Party) {
        self.net.sim.note(|| format!("{party:?} crashes"));
        self.net.links.crash(&mut self.net.sim, party);
        self.bury(party);
        self.net.sim.within(self.net.scenario.notice_max, Event::Start(party));
    }

    fn bury(&mut self, party: Party) {
        match party {
            Party::Ventilator => {}
            Party::Worker(slot) => self.workers[slot] = None,
            Party::Sink => self.sink = None,
        }
        self.nodes.kill(party);
    }

    /// A worker has ended; another takes its place while there is work.
    fn leave(&mut self, party: Party) {
        self.net.sim.note(|| format!("{party:?} leaves"));
        self.net.links.leave(&mut self.net.sim, party);
        self.bury(party);
        if !self.ventilator.has_ended() {
            self.net.sim.within(self.net.scenario.notice_max, Event::Start(party));
        }
    }

    fn fail(&mut self) {
        let scenario = self.net.scenario.clone();
        let Some(fault) = scenario.draw_fault(&mut self.net.sim.rng) else { return };
        let worker = Party::Worker(self.net.sim.rng.usize(0..self.workers.len()));
        match fault {
            Fault::Cut | Fault::CutTasks => {
                let is_meant = |load| fault == Fault::Cut || load == Load::Tasks;
                if let Some(link) = self.any_link(is_meant) {
                    self.net.sim.note(|| format!("link {link} is cut"));
                    self.net.links.cut(&mut self.net.sim, link);
                }
            }
            Fault::CrashWorker if self.nodes.is_up(worker) => self.crash(worker),
            Fault::CrashSink if self.sink.is_some() && !self.ledger.is_finished => {
                let unsettled = self.ventilator.tasks.unsettled();
                let is_hostile = scenario.kind == Kind::Hostile;
                self.ledger.forget(|task| is_hostile || unsettled.contains(&task));
                self.crash(Party::Sink);
            }
            Fault::Pause => {
                let party = *[Party::Ventilator, worker, worker, Party::Sink]
                    .get(self.net.sim.rng.usize(0..4))
                    .unwrap_or(&worker);
                let until = self.net.sim.now() + self.net.sim.rng.u64(0..PAUSE_MAX);
                self.net.sim.note(|| format!("{party:?} is paused until {until}"));
                self.nodes.pause(party, until);
            }
            Fault::Drain => {
                if let Party::Worker(slot) = worker
                    && let Some(worker) = &mut self.workers[slot]
                {
                    self.net.sim.note(|| format!("worker {slot} is asked to leave"));
                    worker.tasks.drain(&mut self.net);
                }
            }
            Fault::Join if self.workers.len() < WORKER_COUNT_MAX => {
                self.workers.push(None);
                self.start(Party::Worker(self.workers.len() - 1));
            }
            Fault::Tamper => {
                // In order, results of invented tasks wait for ever, and others behind them.
                let is_meant = |load| match load {
                    Load::Results | Load::Reports => true,
                    Load::Tasks => !scenario.keep_order,
                    Load::Control => false,
                };
                if let Some(link) = self.any_link(is_meant) {
                    self.net.sim.note(|| format!("link {link} is tampered with"));
                    self.net.links[link].label.is_tampered = true;
                }
            }
            Fault::CrashWorker | Fault::CrashSink | Fault::Join => {}
        }
    }

    fn any_link(&mut self, is_meant: impl Fn(Load) -> bool) -> Option<usize> {
        let links = &self.net.links;
        let all = links.iter().filter(|(_, link)| link.is_up() && is_meant(link.label.load));
        let all: Vec<usize> = all.map(|(index, _)| index).collect();
        if all.is_empty() { None } else { Some(all[self.net.sim.rng.usize(0..all.len())]) }
    }

    /// Ends all faults, and cuts off the links of hostile ends.
    fn calm(&mut self) {
        self.net.sim.note(|| "calm".into());
        self.net.is_calm = true;
        // All other workers may be about to leave, and a task may wait that none of them is given.
        self.workers.push(None);
        self.start(Party::Worker(self.workers.len() - 1));
        let rotten = self.net.links.iter().filter(|(_, link)| link.label.is_tampered);
        let rotten: Vec<usize> = rotten.map(|(index, _)| index).collect();
        rotten.into_iter().for_each(|link| self.net.links.cut(&mut self.net.sim, link));
    }
}
