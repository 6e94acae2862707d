//! `Pull`: a settled PULL as the engine keeps one, around the real `ReceivingLink`: it reads ahead, hands out batches, and
//! sends settlements when they are due or before its owner sleeps.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use hairstreak_wire::settlement::{Outcome, ReceivingLink, SettlementTerms, TaskId, TaskRun, command};
use hairstreak_wire::zmtp;

use crate::endpoint::{Endpoint, Frame, LinkError, terms_in};
use crate::net::Net;
use crate::push::Body;
use crate::scenario::Kind;

#[derive(Debug)]
struct PullLink {
    endpoint: Endpoint,
    link: ReceivingLink,
    is_ready: bool,
    ahead: VecDeque<Body>,
    handed: u64,
    settled: u64,
    /// The last message that may still arrive, after the request for no new messages.
    last: Option<u64>,
}

/// Handed-out messages of one link.
#[derive(Debug)]
pub struct Batch {
    pub link: usize,
    pub numbers: Range<u64>,
    pub messages: Vec<(TaskRun, Body)>,
}

#[derive(Debug)]
pub struct Pull {
    credit: u64,
    collects: bool,
    drains: bool,
    has_seen_end: bool,
    links: BTreeMap<usize, PullLink>,
}

impl Pull {
    /// `collects`: no message ends its party.
    pub fn new(credit: u64, collects: bool) -> Pull {
        Pull { credit, collects, drains: false, has_seen_end: false, links: BTreeMap::new() }
    }

    pub fn attach(&mut self, net: &mut Net, link: usize) {
        let mut endpoint = Endpoint::new(link, 1);
        endpoint.push_ready(SettlementTerms {
            credit: self.credit,
            collects: self.collects,
            ..Default::default()
        });
        let mut own = PullLink {
            endpoint,
            link: ReceivingLink::new(self.credit),
            is_ready: false,
            ahead: VecDeque::new(),
            handed: 0,
            settled: 0,
            last: None,
        };
        if self.drains {
            own.drain(self.credit);
        }
        own.tell(net, false);
        own.endpoint.flush(net);
        self.links.insert(link, own);
    }

    pub fn flush(&mut self, net: &mut Net, index: usize) {
        if let Some(own) = self.links.get_mut(&index) {
            own.endpoint.flush(net);
        }
    }

    /// Takes the arrived bytes.
    pub fn receive(&mut self, net: &mut Net, index: usize, bytes: &[u8]) -> Result<(), LinkError> {
        let Some(own) = self.links.get_mut(&index) else { return Ok(()) };
        own.endpoint.receive(bytes);
        while let Some(frame) = own.endpoint.next_frame()? {
            let received = own.handed + own.ahead.len() as u64;
            match frame {
                Frame::Command(body) if !own.is_ready => {
                    terms_in(&body)?;
                    own.is_ready = true;
                }
                _ if !own.is_ready => return Err(LinkError::Handshake),
                Frame::Command(body) => {
                    let command = zmtp::command::parse(&body)?;
                    let Some(command) = command::parse(&command)? else { return Err(LinkError::Handshake) };
                    net.sim.note(|| format!("link {index} behind message {received}: {command:?}"));
                    own.link.handle(command, received)?;
                }
                Frame::Message(body) => {
                    own.link.check(received + 1)?;
                    own.ahead.push_back(body);
                    let unsettled = received + 1 - own.settled;
                    let is_wanted = own.last.is_none_or(|last| received < last);
                    assert!(
                        is_wanted || net.scenario.kind == Kind::Hostile,
                        "message {received} after X-DRAIN"
                    );
                    assert!(unsettled <= self.credit, "{unsettled} messages with credit for {}", self.credit);
                }
            }
        }
        Ok(())
    }

    /// Received messages of one link.
    pub fn take_batch(&mut self, net: &mut Net, max: usize) -> Option<Batch> {
        let full = self.links.values().filter(|own| !own.ahead.is_empty()).count();
        let chosen = net.sim.rng.usize(0..full.max(1));
        let (&link, own) = self.links.iter_mut().filter(|(_, own)| !own.ahead.is_empty()).nth(chosen)?;
        let count = own.ahead.len().min(net.sim.rng.usize(1..=max));
        let numbers = own.handed + 1..own.handed + 1 + count as u64;
        own.handed += count as u64;
        let mut tasks = own
            .link
            .tasks(numbers.clone())
            .flat_map(|(range, run)| (0..range.end - range.start).map(move |offset| run.plus(offset)));
        // INVARIANT: a message without a task ends its link.
        let mut with_task = |body| (tasks.next().expect("each message is a task"), body);
        let messages = own.ahead.drain(..count).map(&mut with_task).collect();
        Some(Batch { link, numbers, messages })
    }

    /// Settles messages by their numbers.
    pub fn settle(
        &mut self,
        net: &mut Net,
        link: usize,
        numbers: Range<u64>,
        outcome: Outcome,
        reason: &[u8],
    ) {
        let Some(own) = self.links.get_mut(&link) else { return };
        if own.link.settle(numbers.clone(), outcome, reason) {
            own.settled += numbers.end - numbers.start;
        }
        own.tell(net, false);
    }

    /// Settles tasks by name, on all links.
    pub fn settle_tasks(
        &mut self,
        net: &mut Net,
        first: TaskId,
        count: u64,
        outcome: Outcome,
        reason: &[u8],
    ) {
        for own in self.links.values_mut() {
            own.settled += own.link.settle_tasks(first, count, own.handed, outcome, reason);
            own.tell(net, false);
        }
    }

    /// Sends the due settlements, or all of them.
    pub fn tell(&mut self, net: &mut Net, all: bool) {
        for own in self.links.values_mut() {
            own.tell(net, all);
        }
    }

    /// Reports done tasks to the connected peers. Returns `true` if a peer is connected.
    pub fn report(&mut self, net: &mut Net, tasks: &[(TaskId, u64)]) -> bool {
        let mut is_told = false;
        for own in self.links.values_mut().filter(|own| own.is_ready) {
            let mut frame = Vec::new();
            command::encode_done(&mut frame, tasks);
            own.endpoint.push_frames(net, &frame);
            own.endpoint.flush(net);
            is_told = true;
        }
        is_told
    }

    pub fn has_news(&self) -> bool {
        self.links.values().any(|own| own.link.has_news())
    }

    /// Asks the senders to send no new messages.
    pub fn drain(&mut self, net: &mut Net) {
        self.drains = true;
        for own in self.links.values_mut() {
            own.drain(self.credit);
            own.tell(net, true);
        }
    }

    /// Returns `true` if no sender has further messages, and all received messages have been handed out.
    pub fn has_ended(&self) -> bool {
        let is_wanted = self.drains || self.has_seen_end || !self.links.is_empty();
        is_wanted && self.links.values().all(|own| own.ahead.is_empty() && own.link.has_ended())
    }

    /// The link has ended: messages that were not handed out are dropped.
    pub fn lose(&mut self, index: usize) {
        if let Some(own) = self.links.remove(&index) {
            self.has_seen_end |= own.link.has_ended();
        }
    }
}

impl PullLink {
    fn drain(&mut self, credit: u64) {
        self.last.get_or_insert(self.settled + credit);
        self.link.drain();
    }

    fn tell(&mut self, net: &mut Net, all: bool) {
        if self.link.is_due() || all && self.link.has_news() {
            let mut commands = Vec::new();
            self.link.tell(&mut commands);
            self.endpoint.push_frames(net, &commands);
            self.endpoint.flush(net);
        }
    }
}
