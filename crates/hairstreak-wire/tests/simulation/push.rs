//! `Push`: a settled PUSH as the engine keeps one, around the real `SendingLink` and `Redelivery`: it chooses a link,
//! numbers and retains messages, and sends returned messages again.

use std::collections::{BTreeMap, VecDeque};

use hairstreak_wire::settlement::{
    LinkChoice, Redelivery, RedeliveryRules, Refused, Returned, SendingLink, SettlementCommand,
    SettlementTerms, TaskId, TaskRun, command,
};
use hairstreak_wire::zmtp;

use crate::endpoint::{Endpoint, Frame, LinkError, terms_in};
use crate::net::Net;

pub type Body = Vec<u8>;

#[derive(Debug)]
struct PushLink {
    endpoint: Endpoint,
    /// From READY on.
    link: Option<SendingLink>,
    sent: u64,
    /// The places in the stream of messages whose write has not begun, and the number of messages whose write has begun.
    starts: VecDeque<u64>,
    begun: u64,
    retained: BTreeMap<u64, Body>,
    is_alone: bool,
}

/// The messages of receivers.
#[derive(Debug, Default)]
pub struct News {
    pub accepted: Vec<(TaskRun, u64)>,
    /// Passed-on messages that have to be rejected at their source.
    pub rejected: Vec<Returned<Body>>,
    /// Tasks that are done, over all links.
    done: Vec<(TaskId, u64)>,
}

#[derive(Debug)]
pub struct Push {
    window: u64,
    pub redelivery: Redelivery<Body>,
    passes_on: bool,
    has_ended: bool,
    /// The number of deliveries of each task.
    pub sends: BTreeMap<TaskId, u32>,
    links: BTreeMap<usize, PushLink>,
}

impl Push {
    /// `passes_on`: the messages were received from another party.
    pub fn new(window: u64, rules: RedeliveryRules, passes_on: bool) -> Push {
        let redelivery = Redelivery::new(rules);
        let (sends, links) = (BTreeMap::new(), BTreeMap::new());
        Push { window, redelivery, passes_on, has_ended: false, sends, links }
    }

    pub fn attach(&mut self, net: &mut Net, link: usize) {
        let mut endpoint = Endpoint::new(link, 0);
        endpoint.push_ready(SettlementTerms::default());
        endpoint.flush(net);
        let new = PushLink {
            endpoint,
            link: None,
            sent: 0,
            starts: VecDeque::new(),
            begun: 0,
            retained: BTreeMap::new(),
            is_alone: false,
        };
        self.links.insert(link, new);
    }

    pub fn unsettled_count(&self) -> u64 {
        let on_links =
            self.links.values().filter_map(|own| Some(own.link.as_ref()?.unsettled_count(own.sent)));
        self.redelivery.waiting_count() + on_links.sum::<u64>()
    }

    /// All unsettled tasks.
    pub fn unsettled(&self) -> Vec<TaskId> {
        let mut redelivery = self.redelivery.clone();
        let waiting = std::iter::from_fn(move || redelivery.take_waiting().map(|(task, _)| task.id));
        let on_links = self.links.values().flat_map(|own| {
            let link = own.link.iter();
            link.flat_map(|link| {
                link.unsettled(own.sent).flat_map(|(range, run)| {
                    (0..range.end - range.start).map(move |offset| run.plus(offset).id)
                })
            })
        });
        on_links.chain(waiting).collect()
    }

    /// The same as runs, ascending: the sequence of the first of each, and how many there are.
    pub fn unsettled_runs(&self) -> Vec<(u64, u64)> {
        let mut sequences: Vec<u64> = self.unsettled().into_iter().map(|task| task.sequence).collect();
        sequences.sort_unstable();
        let runs = sequences.chunk_by(|one, other| one + 1 == *other);
        runs.map(|run| (run[0], run.len() as u64)).collect()
    }

    pub fn first_unsettled(&self) -> Option<TaskId> {
        let on_links = self
            .links
            .values()
            .filter_map(|own| own.link.as_ref()?.unsettled(own.sent).map(|(_, run)| run.id).min());
        on_links.chain(self.redelivery.first_waiting().map(|task| task.id)).min()
    }

    /// Returns `true` if a message of this task was sent and is not settled.
    pub fn is_under_way(&self, task: TaskId) -> bool {
        let mut links = self.links.values().filter_map(|own| Some((own.link.as_ref()?, own.sent)));
        self.redelivery.has_waiting(task) || links.any(|(link, sent)| link.has_unsettled(task, sent))
    }

    /// Sends a new message as this task, if the window, a receiver's credit and what is to be sent again let it.
    pub fn send(&mut self, net: &mut Net, task: TaskRun, body: &[u8]) -> bool {
        self.send_waiting_again(net);
        if self.redelivery.waiting_count() > 0 || self.unsettled_count() >= self.window {
            return false;
        }
        let Some(link) = self.choose(net, LinkChoice::Open) else { return false };
        self.send_on(net, link, task, body.to_vec(), false);
        true
    }

    pub fn send_waiting_again(&mut self, net: &mut Net) {
        while let Some(task) = self.redelivery.first_waiting() {
            let is_alone = self.redelivery.travels_alone(task);
            let choice = self.redelivery.link_choice(task, || self.first_unsettled());
            let Some(link) = self.choose(net, choice) else { return };
            let Some((task, body)) = self.redelivery.take_waiting() else { return };
            self.send_on(net, link, task, body, is_alone);
        }
    }

    /// Mostly the link with the fewest unsettled messages among the links with credit, sometimes a random one.
    fn choose(&self, net: &mut Net, choice: LinkChoice) -> Option<usize> {
        let is_any = choice == LinkChoice::Open && net.sim.rng.u8(0..8) == 0;
        let fit = self.links.iter().filter_map(|(index, own)| {
            let link = own.link.as_ref()?;
            let unsettled = link.unsettled_count(own.sent);
            let is_fit = match choice {
                LinkChoice::Open => !own.is_alone,
                LinkChoice::Idle => unsettled == 0,
                LinkChoice::Any => true,
            };
            (is_fit && link.room(own.sent) > 0).then_some((own.is_alone, unsettled, *index))
        });
        let fit: Vec<_> = fit.collect();
        if is_any && !fit.is_empty() {
            return Some(fit[net.sim.rng.usize(0..fit.len())].2);
        }
        fit.into_iter().min().map(|(_, _, index)| index)
    }

    fn send_on(&mut self, net: &mut Net, index: usize, task: TaskRun, body: Body, is_alone: bool) {
        let Some(own) = self.links.get_mut(&index) else { return };
        let Some(link) = &mut own.link else { return };
        let mut commands = Vec::new();
        link.begin(own.sent, task, &mut commands);
        own.endpoint.push_frames(net, &commands);
        own.sent += 1;
        own.is_alone |= is_alone;
        own.starts.push_back(own.endpoint.position());
        own.endpoint.push_message(net, &body);
        let number = own.sent;
        *self.sends.entry(task.id).or_default() += 1;
        own.retained.insert(number, body);
        net.sim.note(|| {
            format!("link {index}: {} as message {number}, deliveries {}", task.id.sequence, task.deliveries)
        });
        own.flush(net);
    }

    pub fn flush(&mut self, net: &mut Net, index: usize) {
        if let Some(own) = self.links.get_mut(&index) {
            own.flush(net);
        }
    }

    /// Takes the arrived bytes. Commands before a violation still count.
    pub fn receive(&mut self, net: &mut Net, index: usize, bytes: &[u8]) -> (News, Result<(), LinkError>) {
        let mut news = News::default();
        let result = self.receive_into(net, index, bytes, &mut news);
        for (first, count) in std::mem::take(&mut news.done) {
            for own in self.links.values_mut() {
                own.settle_done(first, count);
            }
            self.redelivery.forget_tasks(first, count);
        }
        (news, result)
    }

    fn receive_into(
        &mut self,
        net: &mut Net,
        index: usize,
        bytes: &[u8],
        news: &mut News,
    ) -> Result<(), LinkError> {
        let Some(own) = self.links.get_mut(&index) else { return Ok(()) };
        own.endpoint.receive(bytes);
        while let Some(frame) = own.endpoint.next_frame()? {
            let Frame::Command(body) = frame else { return Err(LinkError::Handshake) };
            let Some(link) = &mut own.link else {
                let terms = terms_in(&body)?;
                own.link = Some(SendingLink::new(terms));
                if terms.collects && self.passes_on {
                    self.redelivery.feed_collector();
                }
                continue;
            };
            let command = zmtp::command::parse(&body)?;
            let Some(command) = command::parse(&command)? else { return Err(LinkError::Handshake) };
            net.sim.note(|| format!("link {index} of {}: {command:?}", own.sent));
            let settled = link.handle(command, own.sent)?;
            if let SettlementCommand::Done(tasks) = command {
                news.done.extend(tasks);
            }
            news.accepted.extend(settled.accepted);
            let returned = own.collect(settled.refused);
            own.release_settled();
            if self.passes_on {
                news.rejected.extend(self.redelivery.take_back_passed_on(returned));
            } else {
                self.redelivery.take_back(returned);
            }
        }
        if let Some(link) = &mut own.link
            && (self.has_ended || link.drains())
        {
            let mut commands = Vec::new();
            link.end(own.sent, &mut commands);
            own.endpoint.push_frames(net, &commands);
            own.flush(net);
        }
        Ok(())
    }

    /// Announces to receivers that no further message follows.
    pub fn end(&mut self, net: &mut Net) {
        self.has_ended = true;
        for own in self.links.values_mut() {
            if let Some(link) = &mut own.link {
                let mut commands = Vec::new();
                link.end(own.sent, &mut commands);
                own.endpoint.push_frames(net, &commands);
                own.flush(net);
            }
        }
    }

    /// The link has ended: its unsettled messages have to be sent again.
    pub fn lose(&mut self, index: usize) {
        let Some(mut own) = self.links.remove(&index) else { return };
        let Some(link) = own.link.take() else { return };
        let lost: Vec<_> = link.lost(own.sent, own.begun).collect();
        let retained = &mut own.retained;
        // INVARIANT: unsettled messages are retained.
        let with_body = |(number, task)| (task, retained.remove(&number).expect("it is retained"));
        self.redelivery.send_again(lost.into_iter().map(with_body));
    }
}

impl PushLink {
    fn flush(&mut self, net: &mut Net) {
        self.endpoint.flush(net);
        while self.starts.pop_front_if(|start| *start < self.endpoint.flushed).is_some() {
            self.begun += 1;
        }
    }

    fn settle_done(&mut self, first: TaskId, count: u64) {
        if let Some(link) = &mut self.link {
            link.settle_tasks(first, count, self.sent);
            self.release_settled();
        }
    }

    fn release_settled(&mut self) {
        let Some(link) = &self.link else { return };
        self.retained = self.retained.split_off(&(link.settled_through() + 1));
        self.is_alone &= link.unsettled_count(self.sent) > 0;
    }

    fn collect(&mut self, refused: Vec<Refused>) -> Vec<Returned<Body>> {
        let mut returned = Vec::new();
        for Refused { numbers, run, outcome, reason } in refused {
            for (offset, number) in numbers.enumerate() {
                // INVARIANT: a message is settled once, and retained until then.
                let message = self.retained.remove(&number).expect("it is retained");
                let task = run.plus(offset as u64);
                returned.push(Returned { task, message, outcome, reason: reason.clone() });
            }
        }
        returned
    }
}
