//! `Worker`: a simulated worker. With HSN1 it keeps its replies and reports its requests, with plain MDP it keeps
//! nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hairstreak_wire::hsn1::{
    ClientId, FromBroker, Header, Held, Refusal, RequestId, encode_held, parse_from_broker,
};
use hairstreak_wire::mdp::{self, Address, ToWorker, Version, WorkerCommand, parse_to_worker};

use super::ledger::{Ledger, Life};
use super::net::{Event, Frames, Net, Node};

/// Returns the reply to a request of that number, by a worker that cuts replies in that way.
fn reply_of(number: u64, cut: u64) -> Vec<String> {
    (0..=(number + 2 * cut) % 3).map(|index| format!("{number} cut {cut} part {index}")).collect()
}

/// Checks that all parts come from one worker.
pub fn assert_whole(number: u64, said: &[String]) {
    assert!((0..CUTS).any(|cut| reply_of(number, cut) == said), "parts of several replies: {said:?}");
}

/// Number of ways to cut a reply.
const CUTS: u64 = 3;

pub struct Worker {
    pub life: Life,
    pub version: Option<Version>,
    pub capacity: u32,
    /// Links by broker.
    pub links: BTreeMap<usize, usize>,
    /// Requests that the worker runs or has replies to.
    known: BTreeMap<RequestId, Entry>,
    runs: BTreeMap<u64, RequestId>,
    /// Requests that a plain worker has not begun.
    inbox: VecDeque<RequestId>,
    next_run: u64,
    /// Number of replies sent, repeats included.
    reply_count: u64,
    /// First open numbers of clients.
    firsts: BTreeMap<ClientId, u64>,
    pub run_time_max: u64,
    /// Set if a repeated run must be explained.
    pub is_strict: bool,
}

#[derive(Default)]
struct Entry {
    is_done: bool,
    /// Brokers that sent the request. They get the reply on their current connection.
    brokers: BTreeSet<usize>,
}

impl Worker {
    pub fn new(
        life: Life,
        version: Option<Version>,
        capacity: u32,
        run_time_max: u64,
        is_strict: bool,
    ) -> Worker {
        Worker {
            life,
            version,
            capacity,
            links: BTreeMap::new(),
            known: BTreeMap::new(),
            runs: BTreeMap::new(),
            inbox: VecDeque::new(),
            next_run: 0,
            reply_count: 0,
            firsts: BTreeMap::new(),
            run_time_max,
            is_strict,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.runs.is_empty() && self.inbox.is_empty()
    }

    fn held(&self) -> Vec<u8> {
        encode_held(self.known.keys().map(|id| Held { client: id.client, first: id.number, last: id.number }))
    }

    /// Handles a new connection to a broker. A worker of HSN1 sends READY after WELCOME; results from before are sent
    /// ahead of it. A plain worker that works sends READY only after it is done.
    pub fn begin(&mut self, net: &mut Net, broker: usize, link: usize) {
        self.links.insert(broker, link);
        match self.version {
            None => {}
            Some(version) if self.is_idle() => {
                net.say(link, owned(mdp::worker_ready(version, b"echo").frames()))
            }
            Some(_) => {}
        }
    }

    /// Sends a periodic message: a worker of HSN1 reports its requests from other brokers, a plain worker sends a
    /// heartbeat.
    pub fn tick(&mut self, net: &mut Net) {
        for link in self.links.values() {
            match self.version {
                None => net.say(*link, vec![Header::Held.encode().as_ref().to_vec(), self.held()]),
                Some(version) if self.is_idle() => {
                    net.say(*link, owned(mdp::worker_command(version, WorkerCommand::Heartbeat).frames()));
                }
                Some(_) => {}
            }
        }
    }

    /// Takes a message. Returns whether the worker is told to begin again.
    pub fn take(&mut self, net: &mut Net, ledger: &mut Ledger, link: usize, frames: &Frames) -> bool {
        if self.version.is_some() {
            return self.take_plain(net, frames);
        }
        let broker = self.links.iter().find(|(_, of_it)| **of_it == link).map(|(broker, _)| *broker);
        match parse_from_broker(frames).expect("a command") {
            FromBroker::Request { request, first, is_repeated, .. } => {
                let known = self.firsts.entry(request.client).or_default();
                *known = (*known).max(first);
                let first = *known;
                self.known
                    .retain(|id, entry| id.client != request.client || id.number >= first || !entry.is_done);
                if request.number < first {
                    // The client has the reply, and has confirmed it through another broker.
                    let header = Header::Refused { request, refusal: Refusal::Expired }.encode();
                    net.say(link, vec![header.as_ref().to_vec()]);
                    return false;
                }
                let is_new = !self.known.contains_key(&request);
                let entry = self.known.entry(request).or_default();
                entry.brokers.extend(broker);
                if is_new {
                    ledger.run(request, self.life, net.sim.now(), is_repeated, self.is_strict);
                    self.run(net, request);
                } else if entry.is_done {
                    self.answer(net, request);
                }
            }
            FromBroker::Welcome { .. } => {
                let header = Header::Ready { capacity: self.capacity }.encode();
                net.say(link, vec![header.as_ref().to_vec(), b"echo".to_vec(), self.held()]);
            }
            FromBroker::Cancel(_) => {}
            FromBroker::Disconnect { .. } => return true,
            other => panic!("{other:?} to a worker"),
        }
        false
    }

    fn take_plain(&mut self, net: &mut Net, frames: &Frames) -> bool {
        match parse_to_worker(frames).expect("a command") {
            ToWorker::Request { address, .. } => {
                let id = Address::parse(address).expect("an address of ours");
                let count = self.runs.len() + self.inbox.len();
                assert!(count < self.capacity as usize, "a plain worker has more requests than it may");
                self.known.insert(id, Entry::default());
                self.inbox.push_back(id);
                self.run_next(net);
                false
            }
            ToWorker::Heartbeat => false,
            ToWorker::Disconnect => true,
        }
    }

    /// Begins the next request of a plain worker, which does one at a time.
    fn run_next(&mut self, net: &mut Net) {
        if self.runs.is_empty()
            && let Some(id) = self.inbox.pop_front()
        {
            self.run(net, id);
        }
    }

    fn run(&mut self, net: &mut Net, id: RequestId) {
        self.next_run += 1;
        self.runs.insert(self.next_run, id);
        net.sim.within(self.run_time_max, Event::Done { life: self.life, run: self.next_run });
    }

    /// Returns the request of that run.
    pub fn doing(&self, run: u64) -> Option<RequestId> {
        self.runs.get(&run).copied()
    }

    pub fn done(&mut self, net: &mut Net, run: u64) {
        let Some(id) = self.runs.remove(&run) else { return };
        if let Some(entry) = self.known.get_mut(&id) {
            entry.is_done = true;
            if self.version.is_some() {
                // The reply goes out on the current connections.
                entry.brokers = self.links.keys().copied().collect();
            }
        }
        self.answer(net, id);
        if self.version.is_some() {
            self.known.remove(&id);
            self.run_next(net);
        }
    }

    /// Handles the end of a connection. The requests that a plain worker had read are still done, or lost with its
    /// socket.
    pub fn is_cut(&mut self, net: &mut Net, broker: usize) {
        self.links.remove(&broker);
        if net.sim.rng.bool() {
            self.inbox.clear();
        }
    }

    /// Sends a reply. A worker of HSN1 has the body in its own frame; clients have it in the frame of the header.
    fn answer(&mut self, net: &mut Net, id: RequestId) {
        let Some(entry) = self.known.get_mut(&id) else { return };
        let Node::Worker(index) = self.life.node else { return };
        let (index, life) = (index as u64, u64::from(self.life.number));
        // A worker of MDP 0.1 replies in one part.
        let mut cut = (index + life) % CUTS;
        while self.version == Some(Version::V01) && reply_of(id.number, cut).len() > 1 {
            cut = (cut + 1) % CUTS;
        }
        let reply = reply_of(id.number, cut);
        for link in std::mem::take(&mut entry.brokers).iter().filter_map(|broker| self.links.get(broker)) {
            self.reply_count += 1;
            let run = Some(index << 48 | life << 32 | self.reply_count).filter(|_| reply.len() > 1);
            for (index, body) in (0..).zip(&reply) {
                let is_final = index as usize == reply.len() - 1;
                let mut frames = match self.version {
                    Some(version) => {
                        owned(mdp::worker_reply(version, Address::from(id).as_bytes(), is_final).frames())
                    }
                    None if is_final => {
                        vec![Header::Final { request: id, index, run }.encode().as_ref().to_vec()]
                    }
                    None => {
                        vec![Header::Partial { request: id, index, run }.encode().as_ref().to_vec()]
                    }
                };
                frames.push(body.clone().into_bytes());
                net.say(*link, frames);
            }
        }
    }
}

fn owned(frames: &[&[u8]]) -> Frames {
    frames.iter().map(|frame| frame.to_vec()).collect()
}
